/**
 * The request that sends a message, as a line for a shell. The key stays in a variable: nobody pastes it by mistake.
 */
import type { Email, EmailContent } from '#dashboard/src/api/endpoints.ts'

type Message = Email['data']

/** Text within single quotes of a POSIX shell. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

const PATHS: Readonly<Record<Message['priority'], string>> = {
  instant: 'instant',
  high: 'high',
  normal: 'async',
  bulk: 'bulk',
}

interface CurlInput {
  readonly message: Message
  /** Null if it cannot be read: the request has a text in its place. */
  readonly content: EmailContent | null
  /** Where the API is: `https://mail.example.com`. */
  readonly origin: string
}

export function toCurl({ message, content, origin }: CurlInput): string {
  const isScheduled = message.status === 'scheduled'
  const path = isScheduled ? 'schedule' : PATHS[message.priority]
  return [
    `curl -sS ${quoteForShell(`${origin}/api/v1/send-email/${path}`)}`,
    '-H "Authorization: Bearer $MAILSTEAD_KEY"',
    "-H 'Content-Type: application/json'",
    `-d ${quoteForShell(JSON.stringify(bodyOf(message, content), null, 2))}`,
  ].join(' \\\n  ')
}

function bodyOf(message: Message, content: EmailContent | null): object {
  const bcc = message.recipients.filter(({ kind }) => kind === 'bcc').map(({ address }) => address)
  const { from, from_name: name, scheduled_at: at, timezone } = message
  return {
    from: name === null || name === '' ? from : `${name} <${from}>`,
    to: message.to,
    ...(message.cc.length === 0 ? {} : { cc: message.cc }),
    ...(bcc.length === 0 ? {} : { bcc }),
    subject: message.subject,
    ...textsOf(content),
    ...(message.tags.length === 0 ? {} : { tags: message.tags }),
    ...(message.metadata === null ? {} : { metadata: message.metadata }),
    ...attachmentsOf(content),
    ...(message.status === 'scheduled' ? { scheduled_at: at, timezone, priority: message.priority } : {}),
  }
}

function textsOf(content: EmailContent | null): object {
  const html = content?.html ?? null
  const text = content?.text ?? null
  if (html === null && text === null) return { text: '…' }
  return { ...(html === null ? {} : { html }), ...(text === null ? {} : { text }) }
}

/** The API does not return what is in the files: the line says where it belongs. */
function attachmentsOf(content: EmailContent | null): object {
  const files = content?.attachments ?? []
  if (files.length === 0) return {}
  const attachments = files.map(({ filename, content_type }) => ({
    filename: filename ?? 'file',
    content_type,
    content: '<base64>',
  }))
  return { attachments }
}
