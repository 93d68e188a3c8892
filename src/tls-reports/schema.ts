/**
 * A report on TLS with our own mail domains, as others write it (RFC 8460 4): the fields that the standard has, bounded in number and
 * length, with nothing in them that could steer a terminal. What is not a report by the standard is none. Pure.
 */
import { z } from 'zod'

const MAX_POLICIES = 50
const MAX_DETAILS = 200
const MAX_LINES = 100

/** Text of strangers, cut to so many characters. */
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
/** The standard says a list of strings and its own example is one string. */
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

/** Or in words what is wrong with it. */
type ParsedReport = { readonly ok: true; readonly report: TlsReport } | { readonly ok: false; readonly why: string }

/** `text` as it came. */
export function parseTlsReport(text: string): ParsedReport {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { ok: false, why: 'it is no JSON' }
  }
  const read = report.safeParse(json)
  if (read.success) return { ok: true, report: read.data }
  const [issue] = read.error.issues
  return { ok: false, why: `${issue?.path.join('.').slice(0, 100) ?? ''}: ${issue?.message ?? 'it is no report'}` }
}
