/** The queue of received DMARC aggregate reports. */
import type { Config } from '#config/load.ts'
import { DMARC_REPORT_LOCAL } from '#src/domains/records.ts'
import { createArrivalQueue, type ReportArrival } from '#src/report-arrivals/arrival-queue.ts'

/** Of the mail. Receivers with very much mail send reports of some 100 KB, compressed. */
export const MAX_DMARC_MAIL_OCTETS = 2 * 1024 * 1024

/** What the DMARC records of domains name in `rua`. */
export function dmarcReportAddress({ bounceDomain }: Pick<Config, 'bounceDomain'>): string {
  return `${DMARC_REPORT_LOCAL}@${bounceDomain}`
}

export interface DmarcReportArrival extends ReportArrival {
  readonly mailFrom: string
  readonly helo: string
}

/** A large receiver sends a report for each domain, all at the same hour. */
export const DMARC_REPORT_ARRIVALS = createArrivalQueue<DmarcReportArrival>({
  table: 'dmarc_report_arrivals',
  columns: { mail_from: 'mailFrom', peer: 'peer', helo: 'helo', raw: 'raw' },
  purpose: 'dmarc-reports-pace',
  counter: 'dmarc-reports',
  perNetwork: { max: 3000, windowMs: 3_600_000 },
  maxWaiting: 500,
})
