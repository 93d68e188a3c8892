/**
 * Ids are UUIDv7 (RFC 9562 5.7): they sort by time, and an id alone determines its partition.
 * One message has one uuid; its hex is the suffix shared by msg_…, em_… and scheduled_msg_… .
 */
import { randomFillSync } from 'node:crypto'

const pool = Buffer.alloc(4096)
let used = pool.length
let lastMs = 0
let counter = 0

/** Reserves 8 random bytes of the pool and returns their offset. The pool needs one system call for 512 ids. */
function reserveRandomBytes(): number {
  if (used + 8 > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += 8
  return used - 8
}

/** A larger step back of the clock is accepted as a correction: ids with the wrong time would miss their partition. */
const MAX_CLOCK_STEP_BACK_MS = 2000

/**
 * A new UUIDv7. Ids of one process ascend as long as its clock does (12-bit counter in rand_a, RFC 9562 6.2 method 1).
 * Ids of messages and events need the time of PostgreSQL's clock, which determines their partition. Without a time it
 * is that of this machine, for ids that only have to differ.
 */
export function newId(nowMs: number = Date.now()): string {
  if (nowMs > lastMs || nowMs < lastMs - MAX_CLOCK_STEP_BACK_MS) {
    lastMs = nowMs
    counter = 0
  } else if (++counter > 0xfff) {
    lastMs++
    counter = 0
  }
  const at = reserveRandomBytes()
  const time = lastMs.toString(16).padStart(12, '0')
  const variant = (((pool[at] ?? 0) & 0x3f) | 0x80).toString(16)
  const tail = pool.toString('hex', at + 1, at + 8)
  const count = counter.toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${variant}${tail.slice(0, 2)}-${tail.slice(2)}`
}

/** The smallest UUIDv7 of a time: a bound for partitions and for scans by time. */
export function idAt(ms: number): string {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

/** Milliseconds since the epoch inside a UUIDv7. */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

export function hexOf(id: string): string {
  return id.replaceAll('-', '')
}

/** The uuid of 32 hex digits. */
export function idOfHex(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Reads `msg_<ms>_<suffix>`, `em_<suffix>`, `scheduled_msg_<ms>_<suffix>` or a uuid; null for other text. */
export function messageIdOf(text: string): string | null {
  if (isUuid(text)) return text.toLowerCase()
  const suffix = /^(?:(?:scheduled_)?msg_\d{1,15}_|em_)([0-9a-f]{32})$/i.exec(text)?.[1]
  return suffix === undefined ? null : idOfHex(suffix.toLowerCase())
}
