/**
 * The journal of an outbound process: a file to which it appends each result that must not be repeated, before it does
 * anything else with it: the receiver accepted the message, or may have accepted it. If the process dies before the
 * result is committed, the next process on this node records it from the journal (mta/outbound/journal-recovery.ts),
 * and the message is not sent again. The name of the file is in the lease, and workers wait with the release of a dead
 * lease until its journal was read.
 *
 * - One write for each result, not flushed to the disk: what was written survives the death of the process, but a
 *   power failure of the machine may lose it.
 * - The file is bounded. A result that is committed is not needed any more; a file that grew is replaced by one with
 *   the results that are still needed.
 * - The file cannot be written, as on a full disk: delivery continues, an error is logged, and the results are written
 *   with the first write that succeeds. Until then a second copy is possible after a crash.
 * - The folder cannot be used at the start: the process works without a journal, and says so.
 */
import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Config } from '#config/load.ts'
import type { Context } from '#src/context.ts'
import { newId } from '#src/platform/id.ts'
import { formatLine, journaledResultOf } from './journal-format.ts'
import type { DeliveryResult } from './result-writer.ts'

/** A larger file is replaced, unless most of it is still needed. */
const MAX_BYTES = 1024 * 1024
/** After a failed write. */
const RETRY_MS = 1000
const SUFFIX = '.journal'

export interface ResultJournal {
  /** The name of the file; null if there is no journal. */
  readonly name: string | null
  /** Results that are in the journal and not committed yet. */
  readonly unsettled: number
  /** There is no journal, or it lacks results, because it cannot be written. */
  readonly isFailing: boolean
  /** Appends the result if it must not be repeated. Never throws. */
  record(result: DeliveryResult): void
  /** The result is committed, or the lease was lost: it is not needed any more. */
  settle(result: DeliveryResult): void
  /** Writes the file again, because another process may have read and removed it. */
  renew(): void
  /** Removes the file, unless the next process needs it. */
  close(): void
}

/** The folder of all journals of this node. Only the user of the outbound role needs it. */
export function journalFolder({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'journal')
}

export function isJournalName(name: string): boolean {
  return name.endsWith(SUFFIX)
}

/** As `writeSync` of node:fs. */
export type WriteBytes = (file: number, bytes: Buffer) => number

/** Begins a journal in the folder; never throws. */
export function openResultJournal(
  { log }: Pick<Context, 'log'>,
  folder: string,
  write: WriteBytes = writeSync,
): ResultJournal {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return new FileJournal(log, join(folder, `${newId()}${SUFFIX}`), write)
  } catch (error) {
    log.error({ err: error, folder }, 'failed to create the journal of results; a crash may send accepted mail again')
    return NO_JOURNAL
  }
}

const NO_JOURNAL: ResultJournal = {
  name: null,
  unsettled: 0,
  isFailing: true,
  record: () => undefined,
  settle: () => undefined,
  renew: () => undefined,
  close: () => undefined,
}

class FileJournal implements ResultJournal {
  readonly name: string
  readonly #log: Context['log']
  readonly #path: string
  readonly #writeBytes: WriteBytes
  /** The lines of results that are not committed. */
  readonly #unsettled = new Map<string, string>()
  #file: number | null = null
  #bytes = 0
  #maxBytes = MAX_BYTES
  /** When a write failed; the file lacks lines since then. */
  #failedAt: number | null = null

  constructor(log: Context['log'], path: string, writeBytes: WriteBytes) {
    this.#log = log
    this.name = basename(path)
    this.#path = path
    this.#writeBytes = writeBytes
    this.#replace()
  }

  get unsettled(): number {
    return this.#unsettled.size
  }

  get isFailing(): boolean {
    return this.#failedAt !== null
  }

  record(result: DeliveryResult): void {
    const journaled = journaledResultOf(result)
    if (journaled === null) return
    const line = formatLine(journaled)
    this.#unsettled.set(keyOf(result), line)
    if (this.#failedAt === null) this.#attempt(() => this.#append(line))
    else if (performance.now() - this.#failedAt >= RETRY_MS) this.renew()
  }

  settle(result: DeliveryResult): void {
    this.#unsettled.delete(keyOf(result))
  }

  renew(): void {
    this.#attempt(() => this.#replace())
  }

  close(): void {
    if (this.isFailing && this.#unsettled.size > 0) this.renew()
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
    if (this.#unsettled.size === 0) rmSync(this.#path, { force: true })
  }

  #append(line: string): void {
    if (this.#bytes > this.#maxBytes) return this.#replace()
    this.#bytes += this.#write(line)
  }

  /** A new file with all lines that are needed takes the place of the old one, which is complete until then. */
  #replace(): void {
    const draft = `${this.#path}.new`
    const old = this.#file
    this.#file = openSync(draft, 'w', 0o600)
    if (old !== null) closeSync(old)
    this.#bytes = this.#write([...this.#unsettled.values()].join(''))
    renameSync(draft, this.#path)
    this.#maxBytes = Math.max(MAX_BYTES, 2 * this.#bytes)
  }

  #write(lines: string): number {
    if (this.#file === null) throw new Error('the journal is closed')
    const bytes = Buffer.from(lines)
    const written = bytes.length === 0 ? 0 : this.#writeBytes(this.#file, bytes)
    if (written < bytes.length)
      throw new Error(`only ${written} of ${bytes.length} bytes were written: the disk is full`)
    return written
  }

  #attempt(write: () => void): void {
    try {
      write()
      if (this.#failedAt !== null) this.#log.info('the journal of results is written again')
      this.#failedAt = null
    } catch (error) {
      if (this.#failedAt === null)
        this.#log.error(
          { err: error, file: this.#path },
          'failed to write the journal of results; mail is delivered, but a crash may send accepted mail again',
        )
      this.#failedAt = performance.now()
    }
  }
}

function keyOf({ claimed: { messageId, n }, transition: { lease } }: DeliveryResult): string {
  return `${messageId}:${n}:${lease}`
}
