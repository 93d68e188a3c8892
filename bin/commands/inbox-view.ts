/**
 * How a mail of the sandbox inbox is shown: as a line of a table, as a page, as JSON. Pure.
 * A mail may hold anything: control characters (terminal escapes among them) never reach the terminal.
 */
import type { ParsedMail } from 'mailparser'
import { hexOf } from '#src/platform/id.ts'
import type { EventView } from '#src/messages/read.ts'
import type { DkimResult, InboxEntry, InboxMail } from '#src/sandbox/inbox.ts'

/** Digits of an id that a person has to type: its end, for the beginning is the time. */
const SHORT = 8
const WIDEST = { from: 30, to: 34, subject: 36 } as const

/** The table, newest first, as lines. */
export function tableOf(lines: readonly InboxEntry[]): string[] {
  const rows = lines.map((line) => [
    hexOf(line.id).slice(-SHORT),
    timeOf(line.receivedAt),
    cut(line.headerFrom ?? line.mailFrom, WIDEST.from),
    cut(line.rcptTo, WIDEST.to),
    cut(line.subject ?? '', WIDEST.subject),
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

/** One mail with all that is known of it, as lines. */
export function pageOf(mail: InboxMail, parsed: ParsedMail, events: readonly EventView[]): string[] {
  const verdicts = mail.dkim.map(
    ({ result, domain, selector, algorithm, comment }) =>
      `  ${result.padEnd(9)} d=${domain} s=${selector} a=${algorithm}${comment === null ? '' : ` (${comment})`}`,
  )
  const timeline = events.map(
    ({ sequence, createdAt, type, recipient, data }) =>
      `  ${String(sequence).padStart(3)}  ${createdAt.toISOString()}  ${type.padEnd(16)} ${recipient}${data === null ? '' : `  ${JSON.stringify(data)}`}`,
  )
  return [
    `Mail ${hexOf(mail.id)}, received ${mail.receivedAt.toISOString()}`,
    `Envelope  ${mail.mailFrom === '' ? '<>' : mail.mailFrom} -> ${mail.rcptTo}`,
    `TLS       ${mail.tls ?? 'none'}`,
    `Message   ${mail.messageId === null ? 'not one of ours' : `em_${hexOf(mail.messageId)}`}`,
    '',
    'DKIM',
    ...orNone(verdicts, 'no signature'),
    '',
    'Events',
    ...orNone(timeline, 'none'),
    '',
    'Headers',
    ...headersOf(mail.raw)
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
      ({ filename, contentType, size }) => `  ${filename ?? 'without a name'} (${contentType}, ${size} bytes)`,
    ),
  ].map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, (character) => (character === '\t' ? ' ' : '')))
}

export function jsonOfLine(line: InboxEntry): object {
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

export function jsonOfMail(mail: InboxMail, parsed: ParsedMail, events: readonly EventView[]): object {
  return {
    ...jsonOfLine(mail),
    headers: headersOf(mail.raw),
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

/** The header block as it came, without the blank line. */
function headersOf(raw: Buffer): string {
  const end = raw.indexOf('\r\n\r\n')
  return raw.toString('utf8', 0, end < 0 ? raw.length : end)
}

function signatures(verdicts: readonly DkimResult[]): string {
  return verdicts.length === 0
    ? 'none'
    : verdicts.map(({ result, algorithm }) => `${result} (${algorithm.split('-')[0]})`).join(', ')
}

function timeOf(date: Date): string {
  return date.toISOString().slice(0, 19).replace('T', ' ')
}

function orNone(lines: readonly string[], none: string): readonly string[] {
  return lines.length === 0 ? [`  ${none}`] : lines
}

function cut(text: string, widest: number): string {
  const clean = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  return clean.length <= widest ? clean : `${clean.slice(0, widest - 1)}…`
}
