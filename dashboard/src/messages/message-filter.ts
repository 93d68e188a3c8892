/** The filter of the list of messages: what the address says, and the query of the API that finds it. */
import type { FoundEmail } from '#dashboard/src/api/endpoints.ts'
import type { AddressSearch } from '#dashboard/src/shared/address-search.ts'

/** The keys that the filter uses in the address. `q` is the search field. */
export const FILTER_KEYS = ['status', 'tier', 'recipient', 'sender', 'subject', 'tag', 'campaign_id'] as const
export const TIERS = ['instant', 'high', 'normal', 'bulk'] as const
/** Names of periods until now, with their length in hours. */
export const PERIODS = { '1h': 1, '24h': 24, '7d': 7 * 24, '30d': 30 * 24 } as const
export type Period = keyof typeof PERIODS

export interface MessageQuery {
  readonly status?: FoundEmail['status']
  readonly tier?: (typeof TIERS)[number]
  readonly recipient?: string
  readonly sender?: string
  readonly subject?: string
  readonly tag?: string
  readonly campaign_id?: string
  readonly after?: string
  readonly before?: string
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

export function isPeriod(name: string | undefined): name is Period {
  return name !== undefined && Object.hasOwn(PERIODS, name)
}

/** `now` decides where a period begins, to the minute, so that the same address asks the same for a while. */
export function toQuery(search: AddressSearch, now: number): MessageQuery {
  const filters = Object.fromEntries(FILTER_KEYS.flatMap((key) => (search[key] ? [[key, search[key]]] : [])))
  const { period, after, before, q = '' } = search
  const start = isPeriod(period)
    ? new Date(Math.floor(now / MINUTE_MS) * MINUTE_MS - PERIODS[period] * HOUR_MS).toISOString()
    : after
  return {
    ...searchedBy(q, 'recipient' in filters),
    ...filters,
    ...(start === undefined ? {} : { after: start }),
    ...(before === undefined || isPeriod(period) ? {} : { before }),
  }
}

/** The search field takes an address or `@domain` of a recipient; anything else is a part of the subject. */
function searchedBy(text: string, hasRecipient: boolean): Pick<MessageQuery, 'recipient' | 'subject'> {
  const trimmed = text.trim()
  if (trimmed === '') return {}
  const isMailbox = /^\S*@[^\s@]+\.[^\s@]+$/.test(trimmed)
  return isMailbox && !hasRecipient ? { recipient: trimmed.replace(/^@/, '') } : { subject: trimmed }
}

const ID = /^(?:em_[0-9a-f]{32}|(?:scheduled_)?msg_\d+_[0-9a-z]+|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/i

/** The id of a message, if that is what was typed: it opens the message. */
export function messageIdIn(text: string): string | null {
  const trimmed = text.trim()
  return ID.test(trimmed) ? trimmed : null
}
