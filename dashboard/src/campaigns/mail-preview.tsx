/** What the mail of a draft looks like, harmlessly. */
import type { ReactNode } from 'react'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { MailFrame } from '#dashboard/src/ui/mail-frame.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import type { DraftFields } from './use-draft.ts'
import { useMailPreview } from './use-mail-preview.ts'

export function MailPreview(props: { readonly fields: DraftFields; readonly contactId?: string | null }): ReactNode {
  const { fields, contactId = null } = props
  const { campaigns } = useTexts()
  const { isPossible, mail, query } = useMailPreview(fields, contactId)
  const subject = fields.template_id !== null && fields.subject ? fields.subject : (mail?.subject ?? '')
  if (!isPossible) return <Card className="text-muted">{campaigns.previewEmpty}</Card>
  if (query.error !== null) return <FailedQuery query={query} title={campaigns.previewNotLoaded} />
  if (mail === null) return <Skeleton className="h-72 w-full" />
  return (
    <Card padding="none" className="overflow-hidden">
      <div className="border-b border-line px-4 py-3">
        <p className="truncate font-medium">{subject}</p>
        <p className="truncate text-sm text-muted">
          {[fields.from_name, fields.from].filter((one) => one !== null && one !== '').join(' · ')}
        </p>
      </div>
      {mail.html === null ? (
        <pre className="max-h-96 overflow-auto p-4 font-mono text-sm whitespace-pre-wrap">{mail.text}</pre>
      ) : (
        <div className="max-h-[32rem] overflow-y-auto">
          <MailFrame html={mail.html} title={subject} />
        </div>
      )}
    </Card>
  )
}
