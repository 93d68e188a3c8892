/** The filter of the queue, as the address has it and as the API takes it. */
import type { AddressSearch } from '#dashboard/src/shared/address-search.ts'

export const QUEUE_FILTERS = [
  'domain',
  'site',
  'workspace',
  'campaign',
  'tier',
  'state',
  'message',
  'older_than',
] as const
export type QueueFilter = Readonly<Partial<Record<(typeof QUEUE_FILTERS)[number], string>>>

export const QUEUE_STATES = ['scheduled', 'queued', 'sending', 'deferred', 'unknown'] as const
export const TIERS = ['instant', 'high', 'normal', 'bulk'] as const

export function toQueueFilter(search: AddressSearch): QueueFilter {
  return Object.fromEntries(
    QUEUE_FILTERS.flatMap((name) => {
      const value = search[name]?.trim() ?? ''
      return value === '' ? [] : [[name, value]]
    }),
  )
}

/** In words, such as `domain gmail.com, state deferred`. */
export function describeFilter(filter: QueueFilter): string {
  return Object.entries(filter)
    .map(([name, value]) => `${name.replace('_', ' ')} ${value}`)
    .join(', ')
}

export function sumCounts(counts: readonly { readonly count: number }[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0)
}
