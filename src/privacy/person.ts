/** A person in a workspace: a mailbox, and what finds its spellings in a table. */
import { canonicalMailbox } from '#src/mail/canonical-mailbox.ts'
import { spellingsOf } from '#src/mail/mailbox-spellings.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

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

/** The position before all rows. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** Erases one slice, inside the transaction. */
export type ErasureSlice = (tx: Queryable, person: Person, start: SliceStart) => Promise<SliceResult>

/** The parameters of `spelled`: the bounds of the ranges of an index, and the pattern of the spellings. */
export function spellingParameters({ email }: Person): readonly [lows: string[], highs: string[], pattern: string] {
  const { lows, highs, pattern } = spellingsOf(email)
  return [[...lows], [...highs], pattern]
}

/** The parameter of `matches`: the pattern of the spellings, and patterns of LIKE for the ends of those in ASCII. */
export function spellingPatterns({ email }: Person): readonly string[] {
  const { pattern, domains } = spellingsOf(email)
  return [pattern, ...domains.map((domain) => `%${domain}`)]
}

export interface SpelledRows {
  readonly table: string
  /** The name of the rows in the statement. */
  readonly as: string
  readonly column: string
  /** How an index of the table sorts the column, behind `workspace_id`. The column itself unless it is given. */
  readonly indexed?: string
  /** A further condition; the row is `t`. */
  readonly where?: string
}

/**
 * SQL for FROM: rows of the workspace ($1) whose address may be a spelling of the person ($2 to $4). One search in the
 * index for each range: with a join, PostgreSQL may prefer to compare every row of the workspace with every range,
 * because it cannot know how few rows they have. OFFSET 0 excludes that plan.
 */
export function spelled({ table, as, column, indexed = `t.${column}`, where = 'true' }: SpelledRows): string {
  return sql`unnest($2::text[], $3::text[]) AS spelling (low, high)
    CROSS JOIN LATERAL (
      SELECT *
      FROM ${table} t
      WHERE t.workspace_id = $1
        AND ${indexed} >= spelling.low AND ${indexed} < spelling.high
        AND lower(t.${column}) ~ $4
        AND ${where}
      OFFSET 0
    ) ${as}`
}

/**
 * SQL: an address may be a spelling of the person; the parameter is `spellingPatterns`. Reads every row, most of which
 * have another domain: comparing that costs a small part of the regular expression.
 */
export function matches(column: string, parameter: number): string {
  const patterns = `($${parameter}::text[])`
  const isPossible = `lower(${column}) LIKE ANY (${patterns}[2:]) OR octet_length(${column}) <> length(${column})`
  return `CASE WHEN ${isPossible} THEN lower(${column}) ~ ${patterns}[1] ELSE false END`
}

/** Whether an address is a spelling of the person. */
export function isSpelling({ email }: Person, address: string): boolean {
  return canonicalMailbox(address) === canonicalMailbox(email)
}
