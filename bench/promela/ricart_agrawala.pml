/* Ricart and Agrawala, four processes, one entry each unless the benchmark says otherwise, pairwise FIFO channels.
   Every handler of src/vez/catalogue/mutex/ricart_agrawala.py is one atomic step, so the states are the same. */
#ifndef N
#define N 4
#define ENTRIES 1
#endif
#define RELEASED 0
#define WANTED 1
#define HELD 2
#define REQUEST 1
#define REPLY 2
#define CHANNEL(i, j) channel[(i) * N + (j)]

chan channel[N * N] = [2 * ENTRIES] of { byte, byte };
byte state[N];
byte clock[N];
byte timestamp[N];
byte awaited[N];  /* a bit for each process that has not replied */
byte deferred[N]; /* a bit for each process that waits for our reply */
byte asked[N];
byte inside;

inline tell(j) {
  if
  :: j != _pid -> CHANNEL(_pid, j)!REQUEST, timestamp[_pid]; awaited[_pid] = awaited[_pid] | (1 << j)
  :: else -> skip
  fi
}

inline answer(j) {
  if
  :: deferred[_pid] & (1 << j) -> CHANNEL(_pid, j)!REPLY, clock[_pid]
  :: else -> skip
  fi
}

inline handle(j) {
  if
  :: stamp > clock[_pid] -> clock[_pid] = stamp
  :: else -> skip
  fi;
  if
  :: kind == REQUEST ->
     if
     :: state[_pid] == HELD || (state[_pid] == WANTED &&
        (timestamp[_pid] < stamp || (timestamp[_pid] == stamp && _pid < j))) ->
        deferred[_pid] = deferred[_pid] | (1 << j)
     :: else -> CHANNEL(_pid, j)!REPLY, clock[_pid]
     fi
  :: else ->
     awaited[_pid] = awaited[_pid] & ((1 << N) - 1 - (1 << j));
     if
     :: state[_pid] == WANTED && awaited[_pid] == 0 -> state[_pid] = HELD; inside++
     :: else -> skip
     fi
  fi;
  kind = 0; stamp = 0
}

active [N] proctype process() {
  byte kind, stamp;
end:
  do
  :: d_step { asked[_pid] < ENTRIES && state[_pid] == RELEASED ->
       asked[_pid]++; state[_pid] = WANTED; clock[_pid]++; timestamp[_pid] = clock[_pid];
       tell(0); tell(1); tell(2);
#if N > 3
       tell(3)
#endif
     }
  :: d_step { state[_pid] == HELD ->
       state[_pid] = RELEASED; inside--;
       answer(0); answer(1); answer(2);
#if N > 3
       answer(3);
#endif
       deferred[_pid] = 0 }
  :: d_step { _pid != 0 && nempty(CHANNEL(0, _pid)) -> CHANNEL(0, _pid)?kind, stamp; handle(0) }
  :: d_step { _pid != 1 && nempty(CHANNEL(1, _pid)) -> CHANNEL(1, _pid)?kind, stamp; handle(1) }
  :: d_step { _pid != 2 && nempty(CHANNEL(2, _pid)) -> CHANNEL(2, _pid)?kind, stamp; handle(2) }
#if N > 3
  :: d_step { _pid != 3 && nempty(CHANNEL(3, _pid)) -> CHANNEL(3, _pid)?kind, stamp; handle(3) }
#endif
  od
}

#ifdef CHECK
ltl exclusion { [] (inside < 2) }
#endif
