/**
 * Parses a TLS report of another organisation about the mail domains of this server (RFC 8460 4): the fields of the
 * standard, limited in number and length, without control characters. Anything else is rejected. Pure.
 */
import { z } from 'zod'

const MAX_POLICIES = 50
const MAX_DETAILS = 200
const MAX_LINES = 100

/** Untrusted text, truncated to `most` characters. */
const boundedText = (most: number): z.ZodType<string> =>
  z.string().transform((text) =>
    text
      .slice(0, most)
      .toWellFormed()
      .replaceAll(/\p{Cc}/gu, '?'),
  )
const requiredText = boundedText(255).refine((text) => text.trim() !== '', 'is empty')
const optionalText = boundedText(255)
  .nullish()
  .transform((text) => text ?? null)
const count = z.int().min(0)
/** The standard requires a list of strings, but its own example has one string. */
const list = z
  .union([boundedText(255).transform((one) => [one]), z.array(boundedText(255))])
  .nullish()
  .transform((lines) => (lines ?? []).slice(0, MAX_LINES))
const moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text))

const detail = z
  .object({
    'result-type': boundedText(100),
    'failed-session-count': count,
    'sending-mta-ip': optionalText,
    'receiving-mx-hostname': optionalText,
    'receiving-mx-helo': optionalText,
    'receiving-ip': optionalText,
    'failure-reason-code': optionalText,
    'additional-information': optionalText,
  })
  .transform((one) => ({
    result: one['result-type'],
    count: one['failed-session-count'],
    sendingIp: one['sending-mta-ip'],
    mxHost: one['receiving-mx-hostname'],
    mxHelo: one['receiving-mx-helo'],
    mxIp: one['receiving-ip'],
    reason: one['failure-reason-code'],
    more: one['additional-information'],
  }))

const policy = z
  .object({
    policy: z.object({
      'policy-type': z.enum(['tlsa', 'sts', 'no-policy-found']),
      'policy-domain': requiredText,
      'policy-string': list,
      'mx-host': list,
    }),
    summary: z.object({ 'total-successful-session-count': count, 'total-failure-session-count': count }),
    'failure-details': z
      .array(z.unknown())
      .nullish()
      .transform((all) => (all ?? []).slice(0, MAX_DETAILS))
      .pipe(z.array(detail)),
  })
  .transform(({ policy: about, summary, 'failure-details': failureDetails }) => ({
    domain: about['policy-domain'].toLowerCase().replace(/\.$/, ''),
    type: about['policy-type'],
    lines: about['policy-string'],
    mx: about['mx-host'],
    successes: summary['total-successful-session-count'],
    failures: summary['total-failure-session-count'],
    details: failureDetails,
  }))

const report = z
  .object({
    'organization-name': requiredText,
    'report-id': requiredText,
    'contact-info': optionalText,
    'date-range': z.object({ 'start-datetime': moment, 'end-datetime': moment }),
    policies: z
      .array(z.unknown())
      .min(1)
      .transform((all) => all.slice(0, MAX_POLICIES))
      .pipe(z.array(policy)),
  })
  .transform((one) => ({
    organization: one['organization-name'],
    reportId: one['report-id'],
    contact: one['contact-info'],
    beginsAt: one['date-range']['start-datetime'],
    endsAt: one['date-range']['end-datetime'],
    policies: one.policies,
  }))

export type TlsReport = z.output<typeof report>
export type TlsReportPolicy = TlsReport['policies'][number]

/** The report, or the reason why the text is not a report. */
type ParsedReport = { readonly ok: true; readonly report: TlsReport } | { readonly ok: false; readonly why: string }

/** `text` as it came. */
export function parseTlsReport(text: string): ParsedReport {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { ok: false, why: 'it is not JSON' }
  }
  const read = report.safeParse(json)
  if (read.success) return { ok: true, report: read.data }
  const [issue] = read.error.issues
  const path = issue?.path.join('.').slice(0, 100) ?? ''
  return { ok: false, why: `${path}: ${issue?.message ?? 'it is not a TLS report'}` }
}
