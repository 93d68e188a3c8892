/**
 * The sort orders of an audience's members, one row each. Members that compare equal are ordered by id, that is by
 * creation. A key is a position in a sort order as text, as stored in audience_marks.
 */
export interface SortDefinition {
  /** Column of memberships and membership_changes; null for the order of creation, where the id is enough. */
  readonly column: string | null
  /** SQL of the key of a row `m`. */
  readonly key: string
  /** SQL type of the column. */
  readonly type: string
  /** Converts a key to a parameter of that type. */
  readonly parameterOf: (key: string) => string | number
  /** The worker computes the key, so it changes without a request: pages come from a snapshot of the order. */
  readonly isComputed: boolean
}

const identity = (key: string): string => key

/** Reverses the SQL function `score_key`; the empty key is before all others. */
function scoreOf(key: string): number {
  return key === '' ? 0 : Buffer.from(key, 'hex').readFloatBE()
}

export const SORT_DEFINITIONS = {
  createdAt: { column: null, key: `'' COLLATE "C"`, type: 'text', parameterOf: identity, isComputed: false },
  email: { column: 'email', key: 'm.email', type: 'text', parameterOf: identity, isComputed: false },
  firstName: { column: 'first_key', key: 'm.first_key', type: 'text', parameterOf: identity, isComputed: false },
  lastName: { column: 'last_key', key: 'm.last_key', type: 'text', parameterOf: identity, isComputed: false },
  deliverabilityScore: {
    column: 'score',
    key: 'score_key(m.score) COLLATE "C"',
    type: 'real',
    parameterOf: scoreOf,
    isComputed: true,
  },
} as const satisfies Record<string, SortDefinition>

export type MemberSort = keyof typeof SORT_DEFINITIONS
export const MEMBER_SORTS = Object.keys(SORT_DEFINITIONS) as MemberSort[]

/** A position in a sort order. */
export interface MemberPosition {
  readonly key: string
  readonly contactId: string
}

/** Before all members. */
export const FIRST_POSITION: MemberPosition = { key: '', contactId: '00000000-0000-0000-0000-000000000000' }

/**
 * SQL that compares a row `m` with the position in the parameters `$parameter` (its key) and `$parameter + 1` (its
 * contact).
 */
export function comparePosition(sort: MemberSort, operator: '>=' | '<', parameter: number): string {
  const { column, type } = SORT_DEFINITIONS[sort]
  return column === null
    ? `($${parameter}::${type} IS NOT NULL AND m.contact_id ${operator} $${parameter + 1}::uuid)`
    : `(m.${column}, m.contact_id) ${operator} ($${parameter}::${type}, $${parameter + 1}::uuid)`
}

/** ORDER BY for rows `m`. */
export function orderBy(sort: MemberSort, direction: 'ASC' | 'DESC'): string {
  const { column } = SORT_DEFINITIONS[sort]
  return column === null ? `m.contact_id ${direction}` : `m.${column} ${direction}, m.contact_id ${direction}`
}

export function positionParameters(sort: MemberSort, { key, contactId }: MemberPosition): [string | number, string] {
  return [SORT_DEFINITIONS[sort].parameterOf(key), contactId]
}
