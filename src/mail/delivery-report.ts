/**
 * A delivery report (RFC 3464 in a multipart/report, RFC 6522; RFC 6533 where an address is not ASCII) for one recipient of a mail that was
 * handed in by SMTP. Pure: the same facts make the same octets. What strangers wrote in it (replies, names of hosts) is cut and tamed; the
 * mail that it is about is quoted as it was.
 */

export interface ReportFacts {
  /** Of the report: makes its boundary, date and Message-ID. */
  readonly id: string
  readonly at: Date
  readonly from: string
  readonly to: string
  /** Our name. */
  readonly reporter: string
  /** `relayed`: taken by the recipient's server, which promised no report of its own. */
  readonly action: 'failed' | 'relayed'
  readonly recipient: string
  readonly orcpt: string | null
  readonly envid: string | null
  readonly subject: string
  readonly arrivedAt: Date
  /** Why, for people. */
  readonly reason: string
  /** The last answer of the recipient's server. */
  readonly answer: {
    readonly host: string
    readonly status: string | null
    readonly text: string
    readonly at: Date
  } | null
  /** The mail, or its beginning; null where there is none to show. */
  readonly original: { readonly octets: Buffer; readonly isWhole: boolean } | null
}

const MAX_TEXT = 500
/** Of a status that nobody told. RFC 3463 */
const STATUS: Readonly<Record<ReportFacts['action'], string>> = { failed: '5.0.0', relayed: '2.0.0' }
const WORDS: Readonly<Record<ReportFacts['action'], readonly [subject: string, text: string]>> = {
  failed: ['Undelivered', 'Your mail could not be delivered to this recipient, and will not be tried again:'],
  relayed: ['Delivered', 'Your mail was taken by the mail server of this recipient, which does not report further:'],
}

export function writeReport(facts: ReportFacts): Buffer {
  const boundary = `=_report_${facts.id}`
  const isGlobal = !isAscii(facts.recipient)
  const [word, sentence] = WORDS[facts.action]
  const head = [
    `From: Mail delivery system <${facts.from}>`,
    `To: <${facts.to}>`,
    `Subject: ${word}: ${encoded(facts.subject)}`,
    `Date: ${dateText(facts.at)}`,
    `Message-ID: <${facts.id}@${facts.from.slice(facts.from.lastIndexOf('@') + 1)}>`,
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=${isGlobal ? 'global-' : ''}delivery-status;`,
    `\tboundary="${boundary}"`,
  ]
  const text = [
    sentence,
    '',
    `  ${facts.recipient}`,
    '',
    `  ${tame(facts.reason)}`,
    '',
    `This report was made by ${facts.reporter}.`,
  ]
  const parts = [
    part('Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit', text.join('\r\n')),
    part(`Content-Type: message/${isGlobal ? 'global-' : ''}delivery-status`, statusOf(facts, isGlobal)),
    ...(facts.original === null ? [] : [originalOf(facts.original)]),
  ]
  const mark = Buffer.from(`\r\n--${boundary}\r\n`)
  const end = Buffer.from(`\r\n--${boundary}--\r\n`)
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n`), ...parts.flatMap((one) => [mark, one]), end])
}

/** RFC 3464 2.2, 2.3 */
function statusOf(facts: ReportFacts, isGlobal: boolean): string {
  const { envid, orcpt, answer, action } = facts
  const lines = [
    `Reporting-MTA: dns; ${facts.reporter}`,
    ...(envid === null ? [] : [`Original-Envelope-Id: ${tame(envid)}`]),
    `Arrival-Date: ${dateText(facts.arrivedAt)}`,
    '',
    ...(orcpt === null ? [] : [`Original-Recipient: ${tame(orcpt)}`]),
    `Final-Recipient: ${isGlobal ? 'utf-8' : 'rfc822'}; ${facts.recipient}`,
    `Action: ${action}`,
    `Status: ${answer?.status ?? STATUS[action]}`,
    ...(answer === null ? [] : answerLines(answer)),
  ]
  return lines.join('\r\n')
}

function answerLines({ host, text, at }: NonNullable<ReportFacts['answer']>): string[] {
  return [
    `Remote-MTA: dns; ${tame(host)}`,
    `Diagnostic-Code: smtp; ${tame(text)}`,
    `Last-Attempt-Date: ${dateText(at)}`,
  ]
}

function part(fields: string, text: string): Buffer {
  return Buffer.from(`${fields}\r\n\r\n${text}\r\n`)
}

function originalOf({ octets, isWhole }: NonNullable<ReportFacts['original']>): Buffer {
  const end = octets.indexOf('\r\n\r\n')
  const shown = isWhole ? octets : octets.subarray(0, end < 0 ? octets.lastIndexOf('\r\n') + 2 : end + 2)
  const type = isWhole ? 'message/rfc822' : 'text/rfc822-headers'
  return Buffer.concat([Buffer.from(`Content-Type: ${type}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n`), shown])
}

/** One line of ASCII, without what could end it or turn it around. */
function tame(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]+/g, '?').slice(0, MAX_TEXT)
}

/** RFC 2047, each word short enough for a line. */
function encoded(text: string): string {
  const short = text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .slice(0, 150)
    .toWellFormed()
  if (isAscii(short) && !short.includes('=?')) return short
  const words = short.match(/.{1,10}/gu) ?? []
  return words.map((word) => `=?utf-8?B?${Buffer.from(word).toString('base64')}?=`).join('\r\n ')
}

function isAscii(text: string): boolean {
  return !/[^\x20-\x7e]/.test(text)
}

function dateText(at: Date): string {
  return at.toUTCString().replace('GMT', '+0000')
}
