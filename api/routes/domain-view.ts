/**
 * A sending domain as the API shows it: the object, its DNS records with the result of the last check, and a sentence
 * about its status. Pure.
 */
import { z } from 'zod'
import type { Config } from '#config/load.ts'
import { REGION_NAMES, type Region } from '#config/regions.ts'
import type { Domain } from '#src/domains/domains.ts'
import type { RecordCheck } from '#src/domains/inspect.ts'
import { domainRecords, placeOf, removableRecords, trackingNameOf } from '#src/domains/records.ts'
import { DOMAIN_STATES, type DomainStatus } from '#src/domains/status.ts'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { moment } from '#api/http/answer-shapes.ts'

export const NO_DOMAIN: Refusal = refuse('NOT_FOUND', 'There is no such domain.')

const statusName = z.enum(Object.keys(DOMAIN_STATES) as [DomainStatus, ...DomainStatus[]])
const partName = z.enum(['pending', 'verified', 'failed'])
const purpose = z.enum(['dkim', 'spf', 'dmarc', 'mail_from', 'tracking'])
const found = z.enum(['ok', 'missing', 'wrong', 'unknown'])

const record = z
  .object({
    type: z.enum(['TXT', 'MX', 'CNAME']),
    name: z.string(),
    value: z.string(),
    priority: z.int().nullable().meta({ description: 'of an MX record' }),
    purpose,
    description: z.string(),
    required: z.boolean().meta({ description: 'the domain is not verified without it' }),
    status: z
      .enum([...found.options, 'pending'])
      .meta({ description: 'found at the last look; pending before the first' }),
    message: z.string().nullable().meta({ description: 'what to mend' }),
  })
  .meta({ id: 'DnsRecord' })

export const domainShape = z
  .object({
    id: z.uuid(),
    domain: z.string(),
    verification_status: statusName,
    status: statusName.meta({ description: 'the same as verification_status' }),
    mail_from_status: partName,
    tracking_status: partName,
    region: z.enum(REGION_NAMES as [Region, ...Region[]]),
    tracking_host: z
      .string()
      .nullable()
      .meta({
        description:
          'the name that may stand in tracking links once tracking_status is verified; ' +
          'null where the service has no public name',
      }),
    dns_records: z.array(record),
    dns_records_to_remove: z
      .array(z.object({ type: z.string(), name: z.string(), value: z.string() }))
      .meta({ description: 'records of replaced DKIM keys that may be taken out of the zone' }),
    registrar: z.string().nullable(),
    registrar_name: z.string().nullable(),
    registrar_iana_id: z.string().nullable(),
    registrar_last_checked_at: moment.nullable(),
    dns_provider: z.string().nullable(),
    last_checked_at: moment.nullable(),
    verified_at: moment.nullable(),
    created_at: moment,
  })
  .meta({ id: 'Domain' })

const check = z.object({
  status: found,
  message: z.string(),
  records: z.array(
    z.object({ type: z.string(), name: z.string(), required: z.boolean(), status: found, message: z.string() }),
  ),
})

export const checksShape = z.partialRecord(purpose, check).meta({ description: 'by what the records are for' })

export function presentDomain(domain: Domain, config: Config): Record<string, unknown> {
  const { registrarName, mailFromStatus, trackingStatus } = domain
  return {
    id: domain.id,
    domain: domain.domain,
    verification_status: domain.status,
    status: domain.status,
    mail_from_status: mailFromStatus,
    tracking_status: trackingStatus,
    region: domain.region,
    tracking_host: placeOf(config).trackingHost === null ? null : trackingNameOf(domain.domain),
    dns_records: presentRecords(domain, config),
    dns_records_to_remove: removableRecords(domain),
    registrar: registrarName,
    registrar_name: registrarName,
    registrar_iana_id: domain.registrarIanaId,
    registrar_last_checked_at: isoOf(domain.registrarLastCheckedAt),
    dns_provider: domain.dnsProvider,
    last_checked_at: isoOf(domain.checkedAt),
    verified_at: isoOf(domain.verifiedAt),
    created_at: domain.createdAt.toISOString(),
  }
}

function presentRecords(domain: Domain, config: Config): object[] {
  const checks = new Map((domain.checks ?? []).map((one) => [keyOf(one), one]))
  return domainRecords(domain, placeOf(config)).map(({ isRequired, priority, ...one }) => {
    const seen = checks.get(keyOf(one))
    return {
      ...one,
      priority: priority ?? null,
      required: isRequired,
      status: seen?.status ?? 'pending',
      message: seen?.message ?? null,
    }
  })
}

function keyOf({ purpose: what, type, name }: Pick<RecordCheck, 'purpose' | 'type' | 'name'>): string {
  return `${what} ${type} ${name}`
}

/** The worst first. */
const GRAVITY = ['wrong', 'missing', 'unknown', 'ok'] as const

/** By purpose; what is required speaks for a purpose, where anything is. */
export function presentChecks(checks: readonly RecordCheck[]): Record<string, unknown> {
  const purposes = [...new Set(checks.map((one) => one.purpose))]
  return Object.fromEntries(
    purposes.map((what) => {
      const all = checks.filter((one) => one.purpose === what)
      const required = all.filter(({ isRequired }) => isRequired)
      const [worst] = (required.length > 0 ? required : all).toSorted(
        (a, b) => GRAVITY.indexOf(a.status) - GRAVITY.indexOf(b.status),
      )
      const records = all.map(({ type, name, isRequired, status, message }) => ({
        type,
        name,
        required: isRequired,
        status,
        message,
      }))
      return [what, { status: worst?.status, message: worst?.message, records }]
    }),
  )
}

export function explainStatus({ domain, status, missingSince, checks }: Domain): string {
  const trouble = checks === null ? 'Its DNS has not been looked at yet.' : troubleOf(checks)
  if (status === 'verified' && missingSince === null) return `${domain} is verified.`
  if (status === 'verified')
    return `${domain} is verified, but its DKIM record was not found at the last look. ${trouble}`
  if (status === 'degraded') return `${domain} has lost its DKIM record and sends for 24 hours only. ${trouble}`
  return `${domain} is not verified. ${trouble}`
}

/** A domain whose records are right and that is not verified is held by another workspace. */
function troubleOf(checks: readonly RecordCheck[]): string {
  const wrong = checks.find((one) => one.isRequired && one.status !== 'ok')
  return wrong?.message ?? 'Its records are right, but another workspace holds it verified.'
}

function isoOf(date: Date | null): string | null {
  return date?.toISOString() ?? null
}
