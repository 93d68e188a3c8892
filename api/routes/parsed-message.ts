/**
 * The texts and attachments of a complete message, for people. The message comes from a sender: its parts are shown as
 * JSON, never as a page. Long messages are not parsed, because that would delay other requests.
 */
import type { ParsedMail } from 'mailparser'

/** Longer messages are not parsed; they can be downloaded. */
export const MAX_PARSED_BYTES = 256 * 1024

export interface PresentedParts {
  readonly text: string | null
  readonly html: string | null
  readonly attachments: readonly PresentedAttachment[] | null
}

export interface PresentedAttachment {
  readonly filename: string | null
  readonly content_type: string
  readonly size: number
}

/** All null for a message that is too long or cannot be parsed. */
export async function presentParts(bytes: Buffer): Promise<PresentedParts> {
  const parsed = bytes.length > MAX_PARSED_BYTES ? null : await parseMessage(bytes)
  if (parsed === null) return { text: null, html: null, attachments: null }
  const attachments = parsed.attachments.map(({ filename, contentType, size }) => ({
    filename: filename ?? null,
    content_type: contentType,
    size,
  }))
  return { text: parsed.text ?? null, html: parsed.html === false ? null : parsed.html, attachments }
}

/** Null for a message that cannot be parsed. */
async function parseMessage(bytes: Buffer): Promise<ParsedMail | null> {
  // mailparser is large, and most processes never need it
  const { simpleParser } = await import('mailparser')
  try {
    return await simpleParser(bytes, {
      skipHtmlToText: true,
      skipTextToHtml: true,
      skipTextLinks: true,
      skipImageLinks: true,
    })
  } catch {
    return null
  }
}
