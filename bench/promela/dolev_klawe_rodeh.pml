/* Dolev, Klawe and Rodeh on a ring, everybody starts, FIFO channels.
   Every handler of src/vez/catalogue/election/dolev_klawe_rodeh.py is one atomic step. Unless the benchmark says
   otherwise there are eight processes, whose identifiers stand in the order 5 1 8 3 6 2 7 4. */
#ifndef N
#define N 8
#define IDENTIFIER ((_pid == 0) * 5 + (_pid == 1) * 1 + (_pid == 2) * 8 + (_pid == 3) * 3 + (_pid == 4) * 6 + (_pid == 5) * 2 + (_pid == 6) * 7 + (_pid == 7) * 4)
#endif
#define IDLE 0
#define ACTIVE 1
#define RELAY 2
#define FIRST 1
#define SECOND 2
#define ELECTED 3

chan ring[N] = [N] of { byte, byte };
byte leaders;

active [N] proctype process() {
  chan left = ring[_pid];
  chan right = ring[(_pid + 1) % N];
  xr left;
  xs right;
  byte kind, value, state, held, neighbour, leader;
  bool asked;
end:
  do
  :: d_step { !asked -> asked = true;
       if
       :: state == IDLE -> state = ACTIVE; held = IDENTIFIER; right!FIRST, held
       :: else -> skip
       fi }
  :: d_step { left?kind, value ->
       if
       :: kind == FIRST ->
          if
          :: state == IDLE -> state = ACTIVE; held = IDENTIFIER; right!FIRST, held
          :: else -> skip
          fi;
          if
          :: state == RELAY -> right!FIRST, value
          :: state != RELAY && value == held ->
             leader = held;
             if
             :: leader == IDENTIFIER -> leaders++
             :: else -> skip
             fi;
             right!ELECTED, held
          :: else -> neighbour = value; right!SECOND, value
          fi
       :: kind == SECOND ->
          if
          :: state == RELAY -> right!SECOND, value
          :: state != RELAY && neighbour > held && neighbour > value ->
             held = neighbour; right!FIRST, held
          :: else -> state = RELAY
          fi
       :: kind == ELECTED ->
          if
          :: leader == 0 ->
             leader = value;
             if
             :: leader == IDENTIFIER -> leaders++
             :: else -> skip
             fi;
             right!ELECTED, value
          :: else -> skip
          fi
       fi;
       kind = 0; value = 0 }
  od
}

#ifdef CHECK
ltl uniqueness { [] (leaders < 2) }
#endif
