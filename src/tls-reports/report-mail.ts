/** Composes a TLS report by mail (RFC 8460 5.3): signed, with the null sender, and sent even if TLS fails. */
import type { Submission } from '#src/messages/submission.ts'
import type { ReportDestination } from './destinations.ts'
import { reportId, type TlsReportHeader } from './report.ts'

export interface TlsReportMail {
  readonly about: TlsReportHeader
  readonly to: Extract<ReportDestination, { kind: 'mail' }>
  /** The report, gzip. */
  readonly content: Buffer
  readonly sender: { readonly workspaceId: string; readonly domainId: string; readonly address: string }
}

const LINE = /.{1,76}/g

export function composeReportMail({ about, to, content, sender }: TlsReportMail, id: string, now: Date): Submission {
  const subject = `Report Domain: ${about.domain} Submitter: ${about.organization} Report-ID: <${reportId(about)}>`
  const raw = composeRaw({ about, to, content, sender }, { id, subject, date: now })
  return {
    id,
    workspaceId: sender.workspaceId,
    apiKeyId: null,
    domainId: sender.domainId,
    tier: 'bulk',
    from: { email: sender.address, name: null },
    replyTo: null,
    to: [{ email: to.address, name: null }],
    cc: [],
    recipients: [{ address: to.address, domain: to.domain, kind: 'to' }],
    subject,
    html: null,
    text: null,
    headers: [],
    attachments: [],
    tags: ['tls-report'],
    metadata: null,
    trackOpens: false,
    trackClicks: false,
    scheduledAt: null,
    timezone: null,
    expiresAt: null,
    createdAt: now,
    quota: null,
    idempotency: {
      key: `tls report ${about.day} ${about.domain} ${to.address}`.slice(0, 255),
      bodyHash: Buffer.from(about.day),
      answer: '',
    },
    smtp: { raw, envelope: { from: '', isReport: true, ignoresTls: true } },
  }
}

function composeRaw(
  { about, to, content, sender }: TlsReportMail,
  { id, subject, date }: { id: string; subject: string; date: Date },
): Buffer {
  const boundary = `=_${id.replaceAll('-', '')}`
  const [begin, end] = [secondsOf(`${about.day}T00:00:00Z`), secondsOf(`${about.day}T23:59:59Z`)]
  const name = `${about.organization}!${about.domain}!${begin}!${end}.json.gz`
  const lines = [
    `From: <${sender.address}>`,
    `To: <${to.address}>`,
    `Subject: ${subject.replaceAll(' ', '\r\n ')}`,
    `Date: ${date.toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${id.replaceAll('-', '')}@${about.organization}>`,
    `TLS-Report-Domain: ${about.domain}`,
    `TLS-Report-Submitter: ${about.organization}`,
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type="tlsrpt";\r\n boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=us-ascii',
    '',
    `This is an aggregate TLS report from ${about.organization} for ${about.domain} on ${about.day}.`,
    '',
    `--${boundary}`,
    'Content-Type: application/tlsrpt+gzip',
    'Content-Transfer-Encoding: base64',
    `Content-Disposition: attachment;\r\n filename="${name}"`,
    '',
    ...(content.toString('base64').match(LINE) ?? []),
    '',
    `--${boundary}--`,
    '',
  ]
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

function secondsOf(time: string): number {
  return Date.parse(time) / 1000
}
