/** The filters of a list of contacts, as the address of the page has them, and as the API wants them. */
import type { AddressSearch } from '#dashboard/src/shared/address-search.ts'

export const CONTACT_FILTERS = ['audience', 'segment', 'status', 'tag', 'attribute'] as const
export const CONTACT_STATUSES = ['subscribed', 'unsubscribed', 'blocked'] as const
type Status = (typeof CONTACT_STATUSES)[number]

export interface ContactQuery {
  readonly search?: string
  readonly audienceId?: string
  readonly segmentId?: string
  readonly status?: Status
  readonly tag?: string
  readonly attribute?: string
  readonly value?: string
}

/** `plan=pro` is an attribute with a value, `plan` one with any value. */
export function splitAttribute(text: string): { readonly attribute: string; readonly value?: string } {
  const at = text.indexOf('=')
  if (at < 0) return { attribute: text.trim() }
  const value = text.slice(at + 1).trim()
  return { attribute: text.slice(0, at).trim(), ...(value === '' ? {} : { value }) }
}

function isStatus(text: string | undefined): text is Status {
  return CONTACT_STATUSES.some((one) => one === text)
}

/** @param fixed the audience or segment of the page, which wins over the address */
export function contactQueryOf(
  search: AddressSearch,
  fixed: Pick<ContactQuery, 'audienceId' | 'segmentId'> = {},
): ContactQuery {
  const { q = '', audience, segment, status, tag, attribute } = search
  return {
    ...(q.trim() === '' ? {} : { search: q.trim() }),
    ...(audience === undefined ? {} : { audienceId: audience }),
    ...(segment === undefined ? {} : { segmentId: segment }),
    ...(isStatus(status) ? { status } : {}),
    ...(tag === undefined ? {} : { tag }),
    ...(attribute === undefined ? {} : splitAttribute(attribute)),
    ...fixed,
  }
}

/**
 * The same conditions as a filter of segments, to count them; null where they have no such form (the beginning of an
 * address, or a segment).
 */
export function countFilterOf({
  search,
  segmentId,
  audienceId,
  status,
  tag,
  attribute,
  value,
}: ContactQuery): object | null {
  if (search !== undefined || segmentId !== undefined) return null
  const conditions: object[] = []
  if (status !== undefined) conditions.push({ status, ...(audienceId === undefined ? {} : { audienceId }) })
  if (tag !== undefined) conditions.push({ tag, has: true })
  if (attribute !== undefined && attribute !== '')
    conditions.push(value === undefined ? { attribute, op: 'exists', value: true } : { attribute, op: 'eq', value })
  return { all: conditions }
}
