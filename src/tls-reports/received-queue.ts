/** The queue of received TLS reports, by mail to the inbound server or by POST to the api. */
import { createArrivalQueue, type ReportArrival } from '#src/report-arrivals/arrival-queue.ts'

/** The local part of the address, at the bounce domain, for reports by mail. */
export const TLS_REPORT_LOCAL = 'tls-reports'
/** The limit of a POST, compressed or not. Reports of the largest senders have a few KB. */
export const MAX_POST_OCTETS = 64 * 1024

export interface TlsReportArrival extends ReportArrival {
  readonly via: 'mail' | 'https'
}

export const TLS_REPORT_ARRIVALS = createArrivalQueue<TlsReportArrival>({
  table: 'tls_report_arrivals',
  columns: { via: 'via', peer: 'peer', raw: 'raw' },
  purpose: 'tls-reports-pace',
  counter: 'tls-reports',
  perNetwork: { max: 60, windowMs: 3_600_000 },
  maxWaiting: 1000,
})
