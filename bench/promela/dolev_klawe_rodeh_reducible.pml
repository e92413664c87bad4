/* The same protocol as dolev_klawe_rodeh.pml, in the style that lets Spin's partial-order reduction work: a send or
   a receive is a statement of its own, on channels that are declared exclusive. Its states are therefore others. */
#ifndef N
#define N 8
#define IDENTIFIER ((_pid == 0) * 5 + (_pid == 1) * 1 + (_pid == 2) * 8 + (_pid == 3) * 3 + (_pid == 4) * 6 + (_pid == 5) * 2 + (_pid == 6) * 7 + (_pid == 7) * 4)
#endif

mtype = { first, second, elected };
chan ring[N] = [N] of { mtype, byte };
byte leaders;

active [N] proctype process() {
  chan left = ring[_pid];
  chan right = ring[(_pid + 1) % N];
  xr left;
  xs right;
  byte value, held, neighbour, leader;
  bool relay;
  held = IDENTIFIER;
  right!first, held;
end:
  do
  :: left?first, value ->
     if
     :: relay -> right!first, value
     :: !relay && value == held ->
        leader = held;
        if
        :: leader == IDENTIFIER -> leaders++
        :: else -> skip
        fi;
        right!elected, held
     :: else -> neighbour = value; right!second, value
     fi
  :: left?second, value ->
     if
     :: relay -> right!second, value
     :: !relay && neighbour > held && neighbour > value -> held = neighbour; right!first, held
     :: else -> relay = true
     fi
  :: left?elected, value ->
     if
     :: leader == 0 ->
        leader = value;
        if
        :: leader == IDENTIFIER -> leaders++
        :: else -> skip
        fi;
        right!elected, value
     :: else -> skip
     fi
  od
}
