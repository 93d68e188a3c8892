/** The records of a domain in the order in which its owner should publish them. */
import type { DnsRecord } from '#dashboard/src/api/endpoints.ts'

export interface RecordGroup {
  readonly purpose: DnsRecord['purpose']
  readonly records: readonly DnsRecord[]
  /** Found as they should be. */
  readonly found: number
}

const ORDER: readonly DnsRecord['purpose'][] = ['dkim', 'mail_from', 'dmarc', 'spf', 'tracking', 'bimi']

export function groupRecords(records: readonly DnsRecord[]): RecordGroup[] {
  return ORDER.map((purpose) => {
    const own = records.filter((one) => one.purpose === purpose)
    return { purpose, records: own, found: own.filter(({ status }) => status === 'ok').length }
  }).filter((group) => group.records.length > 0)
}

/** The records as lines of a zone file, for owners who edit one. */
export function toZoneFile(records: readonly Pick<DnsRecord, 'type' | 'name' | 'value' | 'priority'>[]): string {
  return records.map((one) => `${one.name}. 3600 IN ${one.type} ${zoneValue(one)}`).join('\n')
}

function zoneValue({ type, value, priority }: Pick<DnsRecord, 'type' | 'value' | 'priority'>): string {
  if (type === 'TXT') return toStrings(value)
  return type === 'MX' ? `${priority ?? 10} ${value}.` : `${value}.`
}

const MAX_STRING = 255

/** A TXT value as strings of up to 255 characters (RFC 1035 3.3.14). */
function toStrings(value: string): string {
  const parts = value.match(new RegExp(`.{1,${MAX_STRING}}`, 'g')) ?? ['']
  return parts.map((part) => `"${part.replaceAll(/["\\]/g, '\\$&')}"`).join(' ')
}
