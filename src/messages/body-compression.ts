/**
 * Bodies of some KB are stored compressed, in one column: HTML, text, and the message that was submitted by SMTP, in a
 * zstd frame with a checksum (RFC 8878). It saves PostgreSQL more CPU time than it costs: what is stored is written to
 * the log, to the table, and crosses two sockets. Small bodies gain nothing, and large ones would hold up the event
 * loop. A body whose octets were damaged is reported as no longer stored; the message is not sent.
 *
 * Before the octets of the three are their lengths, each in 32 bits, little-endian; all bits set: null.
 *
 * New bodies are compressed once all processes can read compressed ones: since the contract migration 062, no process
 * before 0.2.0 gets a lease. Until then, or if PostgreSQL does not answer, they are stored as they are.
 */
import type { Context } from '#src/context.ts'
import { prepared } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { BODIES_ARE_APART, BODY_STORAGE } from './bodies.ts'
import type { BodyText, Submission } from './submission.ts'
import { compressFrame, createFrameReader } from './zstd-contexts.ts'

export interface StoredBody {
  readonly html: string | null
  readonly text: string | null
  readonly raw: Buffer | null
}

/** Characters of the texts and bytes of the raw message. */
const MIN_LENGTH = 8192
const MAX_LENGTH = 131_072
/** Three octets for each character, the lengths, and some to spare. */
const MAX_OCTETS = 3 * MAX_LENGTH + 64
/** The body is stored as it is if compression saves less. */
const MAX_RATIO = 0.8

const NULL_LENGTH = 0xffff_ffff
const LENGTHS = 12

/** Whether compression may gain something. Scheduled mail may still be changed, by column. */
export function isCompressible({ html, text, smtp, scheduledAt }: Submission): boolean {
  return scheduledAt === null && hasSuitableLength([html, text, smtp?.raw ?? null])
}

type Part = BodyText | null

function hasSuitableLength(parts: readonly Part[]): boolean {
  let length = 0
  for (const part of parts) length += part?.length ?? 0
  return length >= MIN_LENGTH && length <= MAX_LENGTH
}

/** Null: it has another length, or hardly becomes smaller. Takes some tenths of a millisecond. */
export function compressBody({ html, text, raw }: Readonly<Record<'html' | 'text' | 'raw', Part>>): Buffer | null {
  const parts = [html, text, raw]
  if (!hasSuitableLength(parts)) return null
  scratch ??= Buffer.alloc(MAX_OCTETS)
  let end = LENGTHS
  for (const [i, part] of parts.entries()) {
    const length = part === null ? NULL_LENGTH : copyInto(scratch, part, end)
    scratch.writeUInt32LE(length, 4 * i)
    if (part !== null) end += length
  }
  const octets = scratch.subarray(0, end)
  const compressed = compressFrame(octets)
  return compressed.length <= octets.length * MAX_RATIO ? compressed : null
}

/** What is compressed, so that no buffer is allocated for it; nothing waits while it is in use. */
let scratch: Buffer | undefined

/** Returns how many octets were written. */
function copyInto(target: Buffer, part: BodyText, at: number): number {
  return typeof part === 'string' ? target.write(part, at) : part.copy(target, at)
}

/** Null: the octets are damaged. */
export function decompressBody(compressed: Buffer): StoredBody | null {
  const octets = readFrame(compressed)
  if (octets === null || octets.length < LENGTHS) return null
  const lengths = [0, 4, 8].map((at) => octets.readUInt32LE(at))
  let start = LENGTHS
  const [html = null, text = null, raw = null] = lengths.map((length) => {
    if (length === NULL_LENGTH) return null
    start += length
    return octets.subarray(start - length, start)
  })
  if (start !== octets.length) return null
  return { html: html?.toString() ?? null, text: text?.toString() ?? null, raw }
}

const readFrame = createFrameReader(MAX_OCTETS)

/** The columns of a body as they are read. */
export interface BodyRow extends StoredBody {
  readonly compressed: Buffer | null
}

/** The body of a row, decompressed. Null: it is damaged. */
export function bodyOf({ compressed, html, text, raw }: BodyRow): StoredBody | null {
  return compressed === null ? { html, text, raw } : decompressBody(compressed)
}

const CHECK_MS = 60_000

const READ_STORAGE = prepared('body-storage', sql`SELECT ${BODIES_ARE_APART} AS "isApart" FROM ${BODY_STORAGE}`)

/** Returns a function that adds the compressed body to a submission, if storing that costs less. It never rejects. */
export function createBodyCompressor({
  db,
  clock,
}: Pick<Context, 'db' | 'clock'>): (submission: Submission) => Promise<Submission> {
  let isReadByAll = false
  let checkAt = -Infinity
  let checking: Promise<void> | null = null

  async function mayCompress(): Promise<boolean> {
    if (!isReadByAll && clock.now() >= checkAt) await (checking ??= check())
    return isReadByAll
  }

  async function check(): Promise<void> {
    try {
      const { rows } = await db.query<{ isApart: boolean }>(READ_STORAGE)
      isReadByAll = rows[0]?.isApart === true
      checkAt = clock.now() + CHECK_MS
    } catch {
      // storing the message will say why
    } finally {
      checking = null
    }
  }

  return async (submission) => {
    if (!isCompressible(submission) || !(await mayCompress())) return submission
    const { html, text, smtp } = submission
    return { ...submission, compressed: compressBody({ html, text, raw: smtp?.raw ?? null }) }
  }
}
