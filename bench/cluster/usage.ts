import { kinds } from './faults.ts';

/** Of `node bench/cluster.ts`. */
export const USAGE = `Usage: node bench/cluster.ts [--seeds N] [--seed N] [--seconds 60] [--only REGEX] [--overlap] [--hosts]
                             [--before FOLDER] [--restore] [--logs] [--help]

  --seeds    how many runs, one after the other on the same cluster: 1 by default
  --seed     that of the first run; the next have the numbers that follow
  --seconds  for how long new faults begin in each run
  --only     faults whose name matches, such as "primary"
  --overlap  a third of the faults begin during another, and none waits until the cluster has recovered
  --hosts    the second replica's DATABASE_URL names the three servers, instead of HAProxy
  --before   each run begins with an empty database and the version in this folder (git worktree), installed and built;
             during the faults, the replicas are updated one after the other
  --restore  no faults: take the cluster back to a moment, and check what users and receivers find
  --logs     keep the logs of all programs

Patroni is the first on the PATH. It must be 4 or newer: before, \`synchronous_mode: quorum\` means asynchronous.

Faults: ${Object.keys(kinds).join(', ')}
`;
