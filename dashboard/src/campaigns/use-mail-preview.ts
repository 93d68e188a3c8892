/** The mail of a draft as one contact would get it, rendered by the API; without a contact, with sample data. */
import { previewTemplate, type PreviewTemplateBody, type TemplatePreview } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useDebounced } from '#dashboard/src/ui/use-debounced.ts'
import type { DraftFields } from './use-draft.ts'

const AFTER_MS = 500

type MailFields = Pick<DraftFields, 'template_id' | 'subject' | 'body' | 'text'>

interface MailPreview {
  /** Null while there is nothing to render. */
  readonly isPossible: boolean
  readonly mail: TemplatePreview['data'] | null
  readonly query: ReturnType<typeof useApi<{ readonly body: PreviewTemplateBody }, TemplatePreview>>
}

export function useMailPreview(fields: MailFields, contactId: string | null): MailPreview {
  const wanted = useDebounced(toBody(fields), AFTER_MS)
  const isPossible = wanted !== null
  const body = { ...(wanted === null ? {} : (JSON.parse(wanted) as PreviewTemplateBody)), contact_id: contactId }
  const query = useApi(previewTemplate, { body }, { isEnabled: isPossible, keepsPrevious: true })
  return { isPossible, mail: isPossible ? (query.data?.data ?? null) : null, query }
}

/** As JSON, so that equal requests are equal values. */
function toBody({ template_id: id, subject, body, text }: MailFields): string | null {
  // the API renders a stored template with its own subject
  if (id !== null) return JSON.stringify({ id })
  const content = body ?? text
  if (content === null || content.trim() === '') return null
  return JSON.stringify({
    subject: subject === null || subject === '' ? '-' : subject,
    body: content,
    ...(body !== null && text !== null && text.trim() !== '' ? { text } : {}),
  })
}
