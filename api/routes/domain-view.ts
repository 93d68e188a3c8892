/**
 * A sending domain as the API shows it: the object, its DNS records with the result of the last check, and a
 * sentence about its status. Pure.
 */
import { z } from 'zod'
import type { Config } from '#config/load.ts'
import { REGION_NAMES, type Region } from '#config/regions.ts'
import { findBimiTranslation } from '#src/domains/bimi-texts.ts'
import { BIMI_SUBJECTS } from '#src/domains/bimi-check.ts'
import type { Domain } from '#src/domains/domains.ts'
import { isUsed, type RecordCheck } from '#src/domains/inspect-records.ts'
import { findTranslation, type Sentence } from '#src/platform/coded-text.ts'
import { aboutSentence, type FindingText, joinSaid, type Said } from '#src/platform/finding-text.ts'
import { domainStatusText } from '#src/domains/record-texts.ts'
import { recommendationsOf } from '#src/domains/recommendations.ts'
import { domainRecords, serviceHostsOf, removableRecords, trackingNameOf } from '#src/domains/records.ts'
import { DOMAIN_STATES, type DomainStatus } from '#src/domains/domain-status.ts'
import { KEY_STATES, type KeyState } from '#src/domains/key-state.ts'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { timestamp, translation } from '#api/http/response-schemas.ts'

export const NO_DOMAIN: Refusal = refuse('NOT_FOUND', 'There is no such domain. List them with get-domains.')

const statusName = z.enum(Object.keys(DOMAIN_STATES) as [DomainStatus, ...DomainStatus[]])
const partStatus = z.enum(['pending', 'verified', 'failed'])
const purpose = z.enum(['dkim', 'spf', 'dmarc', 'mail_from', 'tracking', 'bimi'])
const recordStatus = z.enum(['ok', 'missing', 'wrong', 'unknown'])

const dkimKeySchema = z
  .object({
    selector: z.string().meta({ description: 'the first label of its DNS name' }),
    algorithm: z.enum(['rsa-sha256', 'ed25519-sha256']).meta({ description: 'the algorithm of its signatures' }),
    state: z
      .enum(Object.keys(KEY_STATES) as [KeyState, ...KeyState[]])
      .meta({ description: 'the guide on sending domains explains the states' }),
    since: timestamp.meta({ description: 'since when it is in this state' }),
    record_seen_at: timestamp
      .nullable()
      .meta({ description: 'of a waiting key: when its record was first seen in DNS; null: it is not there yet' }),
  })
  .meta({ id: 'DkimKey' })

const recordSchema = z
  .object({
    type: z.enum(['TXT', 'MX', 'CNAME']),
    name: z.string(),
    value: z.string(),
    priority: z.int().nullable().meta({ description: 'the preference of an MX record' }),
    purpose,
    description: z.string(),
    required: z.boolean().meta({ description: 'true: the domain is verified only with this record' }),
    status: z
      .enum([...recordStatus.options, 'pending'])
      .meta({ description: 'the result of the last check; pending before the first' }),
    message: z.string().nullable().meta({ description: 'what to correct' }),
    translation: translation.nullable().meta({ description: 'of the message, without the name; null: there is none' }),
  })
  .meta({ id: 'DnsRecord' })

const bimiSchema = z
  .object({
    logo_url: z.string().nullable().meta({ description: 'the logo that the proposed record names; null: none is set' }),
    certificate_url: z
      .string()
      .nullable()
      .meta({ description: 'the mark certificate (VMC or CMC) that the proposed record names; null: none is set' }),
    status: z
      .enum([...recordStatus.options, 'pending'])
      .meta({ description: 'ok: receivers that support BIMI may show the logo; pending before the first check' }),
    findings: z.array(
      z.object({
        subject: z.enum(BIMI_SUBJECTS).meta({ description: 'what was checked' }),
        status: recordStatus.meta({ description: 'unknown: it could not be checked' }),
        message: z.string().meta({ description: 'what the last check found' }),
        next: z.string().nullable().meta({ description: 'what to do; null: nothing' }),
        message_translation: translation.nullable().meta({ description: 'of the message; null: there is none' }),
        next_translation: translation.nullable().meta({ description: 'of what to do; null: there is none' }),
      }),
    ),
  })
  .meta({ id: 'DomainBimi' })

export const domainSchema = z
  .object({
    id: z.uuid(),
    domain: z.string(),
    verification_status: statusName,
    status: statusName.meta({ description: 'the same as verification_status' }),
    mail_from_status: partStatus,
    tracking_status: partStatus,
    region: z.enum(REGION_NAMES as [Region, ...Region[]]),
    tracking_host: z
      .string()
      .nullable()
      .meta({
        description:
          'the host name that tracking links may use once tracking_status is verified; ' +
          'null if the service has no public host name',
      }),
    dns_records: z.array(recordSchema),
    dns_records_to_remove: z
      .array(z.object({ type: z.string(), name: z.string(), value: z.string() }))
      .meta({ description: 'records of replaced DKIM keys that can be removed from the zone' }),
    bimi: bimiSchema.meta({ description: 'whether receivers may show a logo beside the mail (BIMI)' }),
    dkim_keys: z.array(dkimKeySchema).meta({ description: 'the DKIM keys, also those that wait or are retired' }),
    recommendations: z
      .array(z.string())
      .meta({ description: 'what to publish besides the required records, such as MAIL FROM; empty: nothing' }),
    recommendation_translations: z
      .array(translation.nullable())
      .meta({ description: 'of the recommendations, in their order; null: there is none' }),
    registrar: z.string().nullable(),
    registrar_name: z.string().nullable(),
    registrar_iana_id: z.string().nullable(),
    registrar_last_checked_at: timestamp.nullable(),
    dns_provider: z.string().nullable(),
    last_checked_at: timestamp.nullable(),
    verified_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'Domain' })

const checkSchema = z.object({
  status: recordStatus,
  message: z.string(),
  records: z.array(
    z.object({ type: z.string(), name: z.string(), required: z.boolean(), status: recordStatus, message: z.string() }),
  ),
})

export const checksSchema = z
  .partialRecord(purpose, checkSchema)
  .meta({ description: 'the checks by purpose of the records' })

export function presentDomain(domain: Domain, config: Config): Record<string, unknown> {
  const { registrarName, mailFromStatus, trackingStatus } = domain
  const recommendations = recommendationsOf(domain)
  return {
    id: domain.id,
    domain: domain.domain,
    verification_status: domain.status,
    status: domain.status,
    mail_from_status: mailFromStatus,
    tracking_status: trackingStatus,
    region: domain.region,
    tracking_host: serviceHostsOf(config).trackingHost === null ? null : trackingNameOf(domain.domain),
    dns_records: presentRecords(domain, config),
    dns_records_to_remove: removableRecords(domain),
    bimi: presentBimi(domain),
    dkim_keys: presentKeys(domain),
    recommendations: recommendations.map(({ text }) => text),
    recommendation_translations: recommendations.map(findTranslation),
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

function presentBimi({ bimi, checks }: Domain): object {
  const check = checks?.find((one) => one.purpose === 'bimi')
  return {
    logo_url: bimi?.logoUrl ?? null,
    certificate_url: bimi?.certificateUrl ?? null,
    status: check?.status ?? 'pending',
    findings: (check?.findings ?? []).map((one) => ({
      ...one,
      message_translation: findBimiTranslation(one.message),
      next_translation: one.next === null ? null : findBimiTranslation(one.next),
    })),
  }
}

function presentKeys({ keys }: Domain): object[] {
  return keys.map(({ selector, algorithm, state, sinceMs, seenMs }) => ({
    selector,
    algorithm,
    state,
    since: new Date(sinceMs).toISOString(),
    record_seen_at: seenMs === null ? null : new Date(seenMs).toISOString(),
  }))
}

function presentRecords(domain: Domain, config: Config): object[] {
  const checks = new Map((domain.checks ?? []).map((one) => [keyOf(one), one]))
  return domainRecords(domain, serviceHostsOf(config)).map(({ isRequired, priority, ...one }) => {
    const result = checks.get(keyOf(one))
    return {
      ...one,
      priority: priority ?? null,
      required: isRequired,
      status: result?.status ?? 'pending',
      message: result?.message ?? null,
      translation: result?.translation ?? null,
    }
  })
}

function keyOf({ purpose: recordPurpose, type, name }: Pick<RecordCheck, 'purpose' | 'type' | 'name'>): string {
  return `${recordPurpose} ${type} ${name}`
}

/** Worst first. */
const WORST_FIRST = ['wrong', 'missing', 'unknown', 'ok'] as const

/** The checks by purpose. A purpose has the worst status of its required records, or of all if none is required. */
export function presentChecks(found: readonly RecordCheck[]): Record<string, unknown> {
  const checks = found.filter(isUsed)
  const purposes = [...new Set(checks.map((one) => one.purpose))]
  return Object.fromEntries(
    purposes.map((checkPurpose) => {
      const all = checks.filter((one) => one.purpose === checkPurpose)
      const required = all.filter(({ isRequired }) => isRequired)
      const [worst] = (required.length > 0 ? required : all).toSorted(
        (a, b) => WORST_FIRST.indexOf(a.status) - WORST_FIRST.indexOf(b.status),
      )
      const records = all.map(({ type, name, isRequired, status, message }) => ({
        type,
        name,
        required: isRequired,
        status,
        message,
      }))
      return [checkPurpose, { status: worst?.status, message: worst?.message, records }]
    }),
  )
}

export function explainStatus(one: Domain): FindingText {
  const { domain, status, missingSince, checks } = one
  const problem = checks === null ? domainStatusText('unchecked') : problemOf(checks)
  if (status === 'verified' && missingSince === null)
    return joinSaid([domainStatusText('verified', { domain }), ...recommendationsOf(one).map(toSaid)], ' ')
  const said = status === 'verified' ? 'verified_missing' : status === 'degraded' ? 'degraded' : 'not_verified'
  return joinSaid([domainStatusText(said, { domain }), problem], ' ')
}

/** The first failing record. If all records are correct and the domain is not verified, another workspace owns it. */
function problemOf(checks: readonly RecordCheck[]): Said {
  const failing = checks.find((one) => one.isRequired && one.status !== 'ok')
  if (failing === undefined) return domainStatusText('taken')
  const { message, translation: ofMessage } = failing
  return { text: message, sentences: ofMessage === undefined ? [] : [aboutSentence(failing.name), ofMessage] }
}

function toSaid({ text, code, params = {} }: Sentence): FindingText {
  return { text, sentences: code === undefined ? [] : [{ code, params }] }
}

function isoOf(date: Date | null): string | null {
  return date?.toISOString() ?? null
}
