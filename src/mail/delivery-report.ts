/**
 * Composes a delivery status notification (RFC 3464 in a multipart/report, RFC 6522; RFC 6533 if an address is not
 * ASCII) for one recipient of a message that was submitted by SMTP. Pure: the same input gives the same octets. Text of
 * remote servers (replies, host names) is truncated and reduced to printable ASCII; the original message is unchanged.
 */

export interface DeliveryReportFacts {
  /** The id of the report, used in its boundary and Message-ID. */
  readonly id: string
  readonly at: Date
  readonly from: string
  readonly to: string
  /** The name of this server. */
  readonly reporter: string
  /** `relayed`: accepted by the recipient's server, which sends no report of its own. */
  readonly action: 'failed' | 'relayed'
  readonly recipient: string
  readonly orcpt: string | null
  readonly envid: string | null
  readonly subject: string
  readonly arrivedAt: Date
  /** The reason, for people. */
  readonly reason: string
  /** The last reply of the recipient's server. */
  readonly reply: {
    readonly host: string
    readonly status: string | null
    readonly text: string
    readonly at: Date
  } | null
  /** The message or its beginning; null when there is none. */
  readonly original: { readonly octets: Buffer; readonly isWhole: boolean } | null
}

const MAX_TEXT = 500
/** The status code if the server gave none. RFC 3463 */
const STATUS: Readonly<Record<DeliveryReportFacts['action'], string>> = { failed: '5.0.0', relayed: '2.0.0' }
const SUBJECT_AND_TEXT: Readonly<Record<DeliveryReportFacts['action'], readonly [subject: string, text: string]>> = {
  failed: ['Undelivered', 'Your message could not be delivered to this recipient. It will not be retried:'],
  relayed: ['Delivered', 'The mail server of this recipient accepted your message. It sends no further reports:'],
}

export function composeDeliveryReport(facts: DeliveryReportFacts): Buffer {
  const boundary = `=_report_${facts.id}`
  const isGlobal = !isAscii(facts.recipient)
  const [word, sentence] = SUBJECT_AND_TEXT[facts.action]
  const head = [
    `From: Mail delivery system <${facts.from}>`,
    `To: <${facts.to}>`,
    `Subject: ${word}: ${encodeHeaderText(facts.subject)}`,
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
    `  ${toPrintableAscii(facts.reason)}`,
    '',
    `This report was created by ${facts.reporter}.`,
  ]
  const parts = [
    textPart('Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit', text.join('\r\n')),
    textPart(`Content-Type: message/${isGlobal ? 'global-' : ''}delivery-status`, deliveryStatusOf(facts, isGlobal)),
    ...(facts.original === null ? [] : [originalPartOf(facts.original)]),
  ]
  const delimiter = Buffer.from(`\r\n--${boundary}\r\n`)
  const end = Buffer.from(`\r\n--${boundary}--\r\n`)
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n`), ...parts.flatMap((one) => [delimiter, one]), end])
}

/** RFC 3464 2.2, 2.3 */
function deliveryStatusOf(facts: DeliveryReportFacts, isGlobal: boolean): string {
  const { envid, orcpt, reply, action } = facts
  const lines = [
    `Reporting-MTA: dns; ${facts.reporter}`,
    ...(envid === null ? [] : [`Original-Envelope-Id: ${toPrintableAscii(envid)}`]),
    `Arrival-Date: ${dateText(facts.arrivedAt)}`,
    '',
    ...(orcpt === null ? [] : [`Original-Recipient: ${toPrintableAscii(orcpt)}`]),
    `Final-Recipient: ${isGlobal ? 'utf-8' : 'rfc822'}; ${facts.recipient}`,
    `Action: ${action}`,
    `Status: ${reply?.status ?? STATUS[action]}`,
    ...(reply === null ? [] : replyLines(reply)),
  ]
  return lines.join('\r\n')
}

function replyLines({ host, text, at }: NonNullable<DeliveryReportFacts['reply']>): string[] {
  return [
    `Remote-MTA: dns; ${toPrintableAscii(host)}`,
    `Diagnostic-Code: smtp; ${toPrintableAscii(text)}`,
    `Last-Attempt-Date: ${dateText(at)}`,
  ]
}

function textPart(fields: string, text: string): Buffer {
  return Buffer.from(`${fields}\r\n\r\n${text}\r\n`)
}

function originalPartOf({ octets, isWhole }: NonNullable<DeliveryReportFacts['original']>): Buffer {
  const end = octets.indexOf('\r\n\r\n')
  const shown = isWhole ? octets : octets.subarray(0, end < 0 ? octets.lastIndexOf('\r\n') + 2 : end + 2)
  const type = isWhole ? 'message/rfc822' : 'text/rfc822-headers'
  return Buffer.concat([Buffer.from(`Content-Type: ${type}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n`), shown])
}

/** One line of printable ASCII. */
function toPrintableAscii(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]+/g, '?').slice(0, MAX_TEXT)
}

/** Encodes with RFC 2047; each encoded word fits into a line. */
function encodeHeaderText(text: string): string {
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
