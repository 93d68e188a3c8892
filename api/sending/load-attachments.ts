/**
 * Completes the attachments of a message: those that are URLs are fetched when the message is accepted, after all other
 * checks. The message is stored with their content, so a retry of the delivery does not fetch again, and a URL that
 * cannot be fetched is refused with the request. If the process dies meanwhile, nothing is stored.
 */
import type { Attachment } from '#src/messages/submission.ts'
import type { RequestDownloads } from '#src/net/file-downloads.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isRefusal } from '#api/http/response.ts'
import { completeAttachment, type RemoteAttachment, type RequestedAttachment } from './attachments.ts'

/** A refusal names the first attachment that could not be fetched. `maxBytes` is the limit for all together. */
export async function loadAttachments(
  attachments: readonly RequestedAttachment[],
  downloads: RequestDownloads,
  maxBytes: number,
): Promise<readonly Attachment[] | Refusal> {
  for (const one of attachments) if (isRemote(one)) void downloads.fetch(one.url) // all start now
  const loaded: Attachment[] = []
  let bytes = 0
  for (const [i, one] of attachments.entries()) {
    const complete = isRemote(one) ? await load(one, downloads, i) : one
    if (isRefusal(complete)) return complete
    bytes += complete.content.length
    if (bytes > maxBytes)
      return refuse('PAYLOAD_TOO_LARGE', `The attachments have more than ${maxBytes} bytes. Send a link instead.`)
    loaded.push(complete)
  }
  return loaded
}

export function isRemote(attachment: RequestedAttachment): attachment is RemoteAttachment {
  return 'url' in attachment
}

async function load(
  attachment: RemoteAttachment,
  downloads: RequestDownloads,
  index: number,
): Promise<Attachment | Refusal> {
  const result = await downloads.fetch(attachment.url)
  if ('content' in result) return completeAttachment(attachment, result)
  const path = `attachments.${index}.url`
  if (result.failure === 'no-memory') return refuse('SERVICE_UNAVAILABLE', result.reason, 1)
  return result.failure === 'too-large'
    ? refuse('PAYLOAD_TOO_LARGE', `${path}: ${result.reason}`)
    : invalid([{ path, message: result.reason }])
}
