/** A person in a workspace: a mailbox, and what finds its spellings in a table. */
import { canonicalMailbox, spellingsOf } from '#src/mail/canonical-mailbox.ts'
import type { Queryable } from '#src/stores/db.ts'

export interface Person {
  readonly workspaceId: string
  /** One spelling. */
  readonly email: string
}

export interface SliceResult {
  /** Rows by table. */
  readonly deleted: Readonly<Record<string, number>>
  /** Where the next slice begins; null: the step has ended. */
  readonly next: string | null
  /** Mail was left because it is being sent. */
  readonly isWaiting?: boolean
}

export interface SliceStart {
  /** Null: at the beginning. */
  readonly position: string | null
  readonly now: Date
}

/** Erases one slice, inside the transaction. */
export type ErasureSlice = (tx: Queryable, person: Person, start: SliceStart) => Promise<SliceResult>

/** The parameters of `matches`: the lower and the upper bound of the spellings, and their pattern. */
export function spellingParameters({ email }: Person): readonly [from: string, to: string, pattern: string] {
  const { prefix, pattern } = spellingsOf(email)
  return [prefix, `${prefix}\u{10ffff}`, pattern]
}

/** SQL: an address may be a spelling of the person; `first` is the number of the first parameter. */
export function matches(column: string, first: number): string {
  const lower = `lower(${column}) COLLATE "C"`
  return `${lower} >= $${first} AND ${lower} < $${first + 1} AND lower(${column}) ~ $${first + 2}`
}

/** Whether an address is a spelling of the person. */
export function isSpelling({ email }: Person, address: string): boolean {
  return canonicalMailbox(address) === canonicalMailbox(email)
}
