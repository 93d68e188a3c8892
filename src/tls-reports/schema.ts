/**
 * A report on TLS with our own mail domains, as others write it (RFC 8460 4): the fields that the standard has, bounded in number and
 * length, with nothing in them that could steer a terminal. What is not a report by the standard is none. Pure.
 */
import { z } from 'zod'

const MOST_POLICIES = 50
const MOST_DETAILS = 200
const MOST_LINES = 100

/** Text of strangers, cut to so many characters. */
const words = (most: number): z.ZodType<string> =>
  z.string().transform((text) =>
    text
      .slice(0, most)
      .toWellFormed()
      .replaceAll(/\p{Cc}/gu, '?'),
  )
const named = words(255).refine((text) => text.trim() !== '', 'is empty')
const maybe = words(255)
  .nullish()
  .transform((text) => text ?? null)
const count = z.int().min(0)
/** The standard says a list of strings and its own example is one string. */
const list = z
  .union([words(255).transform((one) => [one]), z.array(words(255))])
  .nullish()
  .transform((lines) => (lines ?? []).slice(0, MOST_LINES))
const moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text))

const detail = z
  .object({
    'result-type': words(100),
    'failed-session-count': count,
    'sending-mta-ip': maybe,
    'receiving-mx-hostname': maybe,
    'receiving-mx-helo': maybe,
    'receiving-ip': maybe,
    'failure-reason-code': maybe,
    'additional-information': maybe,
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
      'policy-domain': named,
      'policy-string': list,
      'mx-host': list,
    }),
    summary: z.object({ 'total-successful-session-count': count, 'total-failure-session-count': count }),
    'failure-details': z
      .array(z.unknown())
      .nullish()
      .transform((all) => (all ?? []).slice(0, MOST_DETAILS))
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
    'organization-name': named,
    'report-id': named,
    'contact-info': maybe,
    'date-range': z.object({ 'start-datetime': moment, 'end-datetime': moment }),
    policies: z
      .array(z.unknown())
      .min(1)
      .transform((all) => all.slice(0, MOST_POLICIES))
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
type ReadReport = { readonly ok: true; readonly report: TlsReport } | { readonly ok: false; readonly why: string }

/** `text` as it came. */
export function readTlsReport(text: string): ReadReport {
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
