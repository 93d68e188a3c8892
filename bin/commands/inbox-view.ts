/**
 * Formats the mail of the sandbox inbox as a table row, as a page and as JSON. Pure. Mail is untrusted: control
 * characters, such as terminal escapes, are removed.
 */
import { countText } from '#src/platform/plural.ts'
import { shortTimeText, timeText } from '#src/platform/time-text.ts'
import type { ParsedMail } from 'mailparser'
import { hexOf } from '#src/platform/id.ts'
import type { EventView } from '#src/messages/read.ts'
import type { DkimResult, InboxEntry, InboxMail } from '#src/sandbox/inbox.ts'

/** The last digits of an id, which a person can type. The first ones are the time. */
const ID_LENGTH = 8
const MAX_WIDTHS = { from: 30, to: 34, subject: 36 } as const

/** The inbox as lines of a table. */
export function formatInbox(lines: readonly InboxEntry[]): string[] {
  const rows = lines.map((line) => [
    hexOf(line.id).slice(-ID_LENGTH),
    shortTimeText(line.receivedAt),
    truncate(line.headerFrom ?? line.mailFrom, MAX_WIDTHS.from),
    truncate(line.rcptTo, MAX_WIDTHS.to),
    truncate(line.subject ?? '', MAX_WIDTHS.subject),
    line.tls?.split(' ')[0] ?? 'no',
    signatures(line.dkim),
  ])
  const table = [['ID', 'RECEIVED', 'FROM', 'TO', 'SUBJECT', 'TLS', 'DKIM'], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  return table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** All details of one mail, as lines. */
export function formatMail(mail: InboxMail, parsed: ParsedMail, events: readonly EventView[]): string[] {
  const verdicts = mail.dkim.map(
    ({ result, domain, selector, algorithm, comment }) =>
      `  ${result.padEnd(9)} d=${domain} s=${selector} a=${algorithm}${comment === null ? '' : ` (${comment})`}`,
  )
  const timeline = events.map(
    ({ sequence, createdAt, type, recipient, data }) =>
      `  ${String(sequence).padStart(3)}  ${timeText(createdAt)}  ${type.padEnd(16)} ${recipient}` +
      (data === null ? '' : `  ${JSON.stringify(data)}`),
  )
  return [
    `Mail ${hexOf(mail.id)}, received ${timeText(mail.receivedAt)}`,
    `Envelope  ${mail.mailFrom === '' ? '<>' : mail.mailFrom} -> ${mail.rcptTo}`,
    `TLS       ${mail.tls ?? 'none'}`,
    `Message   ${mail.messageId === null ? 'not sent by this system' : `em_${hexOf(mail.messageId)}`}`,
    '',
    'DKIM',
    ...orNone(verdicts, 'no signature'),
    '',
    'Events',
    ...orNone(timeline, 'none'),
    '',
    'Headers',
    ...readHeaders(mail.raw)
      .split('\r\n')
      .map((line) => `  ${line}`),
    '',
    'Text',
    ...(parsed.text ?? '')
      .trimEnd()
      .split('\n')
      .map((line) => `  ${line}`),
    ...(parsed.attachments.length > 0 ? ['', 'Attachments'] : []),
    ...parsed.attachments.map(
      ({ filename, contentType, size }) =>
        `  ${filename ?? 'without a name'} (${contentType}, ${countText(size, 'byte')})`,
    ),
  ].map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, (character) => (character === '\t' ? ' ' : '')))
}

export function entryToJson(line: InboxEntry): object {
  const { id, receivedAt, mailFrom, rcptTo, headerFrom, subject, tls, dkim, messageId } = line
  return {
    id: hexOf(id),
    received_at: receivedAt.toISOString(),
    mail_from: mailFrom,
    rcpt_to: rcptTo,
    from: headerFrom,
    subject,
    tls,
    dkim,
    email_id: messageId === null ? null : `em_${hexOf(messageId)}`,
  }
}

export function mailToJson(mail: InboxMail, parsed: ParsedMail, events: readonly EventView[]): object {
  return {
    ...entryToJson(mail),
    headers: readHeaders(mail.raw),
    text: parsed.text ?? null,
    html: parsed.html === false ? null : parsed.html,
    attachments: parsed.attachments.map(({ filename, contentType, size }) => ({
      filename: filename ?? null,
      content_type: contentType,
      size,
    })),
    events: events.map(({ id, type, sequence, recipient, data, createdAt }) => ({
      id: `evt_${hexOf(id)}`,
      type,
      sequence,
      recipient,
      data,
      created_at: createdAt.toISOString(),
    })),
  }
}

/** The raw header block without the blank line. */
function readHeaders(raw: Buffer): string {
  const end = raw.indexOf('\r\n\r\n')
  return raw.toString('utf8', 0, end < 0 ? raw.length : end)
}

function signatures(results: readonly DkimResult[]): string {
  return results.length === 0
    ? 'none'
    : results.map(({ result, algorithm }) => `${result} (${algorithm.split('-')[0]})`).join(', ')
}

function orNone(lines: readonly string[], none: string): readonly string[] {
  return lines.length === 0 ? [`  ${none}`] : lines
}

function truncate(text: string, maxLength: number): string {
  const clean = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  return clean.length <= maxLength ? clean : `${clean.slice(0, maxLength - 1)}…`
}
