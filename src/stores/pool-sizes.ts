/** How many connections to PostgreSQL a process opens at most, for each of its pools (db.ts). */
import { availableParallelism } from 'node:os'
import { isSmallMachine } from '#src/platform/machine-memory.ts'

export interface PoolSizes {
  readonly urgent: number
  readonly hot: number
  readonly plain: number
}

/**
 * The process of PostgreSQL for a connection takes 3 to 4 MB. Prepared statements are short and in batches, so on two
 * cores four connections for them are as fast as eight. An import or a removal may use a plain one for minutes.
 */
export function poolSizes(cores = availableParallelism(), isSmall = isSmallMachine()): PoolSizes {
  const plain = isSmall ? 4 : 8
  const hot = cores <= 2 ? 4 : plain
  return { urgent: hot / 2, hot, plain }
}

/** `max` connections, half of it for urgent statements. */
export function equalSizes(max: number): PoolSizes {
  return { urgent: Math.ceil(max / 2), hot: max, plain: max }
}
