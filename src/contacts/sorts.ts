/**
 * The orders in which members of an audience are listed, one row each; the contact's id, which is the order of creation, parts equals.
 * A key is a position in an order as text, as audience_marks has it.
 */
export interface Order {
  /** In memberships and membership_changes; null in the order of creation, where the id says all. */
  readonly column: string | null
  /** SQL of the key, of a row `m`. */
  readonly key: string
  /** SQL type of the column. */
  readonly type: string
  /** A key as a parameter of that type. */
  readonly valueOf: (key: string) => string | number
}

const asText = (key: string): string => key

/** `score_key` back to the number; the empty key is before all. */
function scoreOf(key: string): number {
  return key === '' ? 0 : Buffer.from(key, 'hex').readFloatBE()
}

export const ORDERS = {
  createdAt: { column: null, key: `'' COLLATE "C"`, type: 'text', valueOf: asText },
  email: { column: 'email', key: 'm.email', type: 'text', valueOf: asText },
  firstName: { column: 'first_key', key: 'm.first_key', type: 'text', valueOf: asText },
  lastName: { column: 'last_key', key: 'm.last_key', type: 'text', valueOf: asText },
  deliverabilityScore: { column: 'score', key: 'score_key(m.score) COLLATE "C"', type: 'real', valueOf: scoreOf },
} as const satisfies Record<string, Order>

export type Sort = keyof typeof ORDERS
export const SORTS = Object.keys(ORDERS) as Sort[]

/** A position: from it on, or before it. */
export interface Place {
  readonly key: string
  readonly contactId: string
}

/** Before everybody. */
export const FIRST_PLACE: Place = { key: '', contactId: '00000000-0000-0000-0000-000000000000' }

/** SQL: a row `m` compared with the place in the parameters `$at` (its key's value) and `$at + 1` (its contact). */
export function compareWith(sort: Sort, operator: '>=' | '<', at: number): string {
  const { column, type } = ORDERS[sort]
  return column === null
    ? `($${at}::${type} IS NOT NULL AND m.contact_id ${operator} $${at + 1}::uuid)`
    : `(m.${column}, m.contact_id) ${operator} ($${at}::${type}, $${at + 1}::uuid)`
}

/** SQL: ORDER BY of rows `m`. */
export function orderBy(sort: Sort, direction: 'ASC' | 'DESC'): string {
  const { column } = ORDERS[sort]
  return column === null ? `m.contact_id ${direction}` : `m.${column} ${direction}, m.contact_id ${direction}`
}

export function placeValues(sort: Sort, { key, contactId }: Place): [string | number, string] {
  return [ORDERS[sort].valueOf(key), contactId]
}
