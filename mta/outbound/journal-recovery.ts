/**
 * Records the results that an outbound process of this node left in its journal when it died
 * (mta/delivery/result-journal.ts): at the start of the next process, or in a second process that runs beside it. The
 * workers release the lease of the dead process only after that, or after JOURNAL_WAIT_SECONDS.
 *
 * A result counts if its recipient still waits for the result of just that attempt; any other is committed already.
 * So it does no harm to record a journal twice, or by two processes at once. A death in between leaves the file and
 * the lease as they were. A process whose lease expired may live, and have a new lease that names the same journal:
 * then the file stays. PostgreSQL away: the results are written when it is back. A journal that no lease names is left
 * from a process whose lease was released without it; it is recorded, as far as that is still possible, and removed.
 */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseJournal, type JournaledResult } from '#mta/delivery/journal-format.ts'
import { isJournalName } from '#mta/delivery/result-journal.ts'
import type { ResultWriter } from '#mta/delivery/result-writer.ts'
import { createDebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import { createFailureBackoff } from '#src/concurrency/failure-backoff.ts'
import type { Context } from '#src/context.ts'
import { findCurrentAttempts } from '#src/messages/open-recipients.ts'
import { createLeaseObserver, markJournalRead, type ObservedLease } from '#src/queue/lease-observer.ts'

const INTERVAL_MS = 1000
/** While PostgreSQL or the folder cannot be read. */
const LONGEST_PAUSE_MS = 30_000
/** A process that starts has its journal before its lease. */
const STARTING_MS = 60_000
const SLICE = 500

export interface JournalRecoveryDeps {
  /** Where the journals are. */
  readonly folder: string
  /** The journal of this process; null if it has none. */
  readonly ownName: string | null
  readonly writer: Pick<ResultWriter, 'write'>
}

export interface JournalRecovery {
  stop(): Promise<void>
}

type RecoveryContext = Pick<Context, 'config' | 'db' | 'clock' | 'log'>

/** Looks for journals of dead processes now, and each second; more rarely while it fails. */
export function startJournalRecovery(ctx: RecoveryContext, deps: JournalRecoveryDeps): JournalRecovery {
  const round = createRecoveryRound(ctx, deps)
  const backoff = createFailureBackoff(ctx.log, {
    message: 'failed to read the journal of a dead outbound process; it is retried',
    firstMs: INTERVAL_MS,
    longestMs: LONGEST_PAUSE_MS,
  })
  const runOnce = async (): Promise<number> => {
    try {
      await round()
      backoff.succeeded()
      return INTERVAL_MS
    } catch (error) {
      return backoff.failed(error)
    }
  }
  const runner = createDebouncedRunner(async () => runner.schedule(await runOnce()), 0)
  runner.schedule(0)
  return { stop: () => runner.stop() }
}

/** One look at the folder. */
export function createRecoveryRound(ctx: RecoveryContext, deps: JournalRecoveryDeps): () => Promise<void> {
  const observe = createLeaseObserver(ctx.config)

  /** Whether the process of the journal is dead. `owners` are the leases that name it. */
  function isLeft(name: string, owners: readonly ObservedLease[]): boolean {
    if (owners.length > 0) return owners.every(({ isDead }) => isDead)
    const stats = statSync(join(deps.folder, name), { throwIfNoEntry: false })
    // this machine's clock, as that of the file; the clock of PostgreSQL may be another
    return stats !== undefined && Date.now() - stats.mtimeMs > STARTING_MS
  }

  return async () => {
    const names = listJournals(deps)
    if (names.length === 0) return
    const leases = await observe(ctx.db)
    for (const name of names) {
      const owners = leases.filter(({ journal }) => journal === name)
      if (isLeft(name, owners)) await recover(ctx, deps, { name, leases: owners.map(({ id }) => id) })
    }
  }
}

function listJournals({ folder, ownName }: JournalRecoveryDeps): string[] {
  try {
    return readdirSync(folder).filter((name) => isJournalName(name) && name !== ownName)
  } catch {
    return [] // without a folder there are no journals
  }
}

interface LeftJournal {
  readonly name: string
  /** The leases of dead processes that name it. */
  readonly leases: readonly number[]
}

async function recover(
  ctx: RecoveryContext,
  { folder, writer }: JournalRecoveryDeps,
  { name, leases }: LeftJournal,
): Promise<void> {
  const file = join(folder, name)
  const content = readJournal(file)
  const { results, damaged } = parseJournal(content ?? Buffer.alloc(0))
  let recorded = 0
  for (let at = 0; at < results.length; at += SLICE) {
    const current = await findOpen(ctx, results.slice(at, at + SLICE))
    const moved = await Promise.all(current.map((result) => writer.write(result)))
    recorded += moved.filter(Boolean).length
  }
  const isStillNamed = await markJournalRead(ctx.db, name, leases)
  if (isStillNamed) return
  rmSync(file, { force: true })
  rmSync(`${file}.new`, { force: true })
  // another process of this node read it meanwhile
  if (content === null) return
  ctx.log.warn(
    { journal: name, recorded, damaged },
    'an outbound process died; recorded the results in its journal that were not committed',
  )
}

/** Null if the file is gone. */
function readJournal(file: string): Buffer | null {
  try {
    return readFileSync(file)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

async function findOpen(
  { db }: Pick<Context, 'db'>,
  results: readonly JournaledResult[],
): Promise<readonly JournaledResult[]> {
  const open = await findCurrentAttempts(
    db,
    results.map(({ claimed: { messageId, n }, transition: { lease, attempt } }) => ({
      messageId,
      n,
      lease,
      attempt: attempt.number,
    })),
  )
  return results.filter((_, i) => open.has(i))
}
