/** How many contacts a draft would go to now, counted by the API after each saved change. */
import type { ReactNode } from 'react'
import { previewCampaign, type PreviewCampaignAnswer } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { formatNumber } from '#dashboard/src/ui/format.ts'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import type { Draft } from './use-draft.ts'

type Preview = PreviewCampaignAnswer['data']

/** `1,200 recipients`; an estimate says so. */
export function useCountText(): (preview: Pick<Preview, 'recipients' | 'is_estimate'>) => string {
  const { campaigns, ui } = useTexts()
  return ({ recipients, is_estimate: isEstimate }) => {
    const number = formatNumber(recipients, ui.locale)
    return campaigns.recipientCount(recipients, isEstimate ? campaigns.about(number) : number)
  }
}

export function RecipientCount({ draft }: { readonly draft: Draft }): ReactNode {
  const { campaigns } = useTexts()
  const countText = useCountText()
  const hasAudience = draft.fields.audience_ids.length > 0
  const query = useApi(previewCampaign, { params: { id: draft.id } }, { isEnabled: hasAudience })
  const isOld = draft.state === 'saving' || query.isFetching
  return (
    <Card>
      <p className="text-sm text-muted">{campaigns.would}</p>
      <p aria-live="polite" aria-busy={isOld} className="mt-1 min-h-8 text-2xl font-semibold tabular-nums">
        {!hasAudience && '–'}
        {hasAudience && query.data === undefined && <Skeleton className="h-8 w-40" />}
        {hasAudience && query.data !== undefined && (
          <span className={isOld ? 'text-muted' : ''}>{countText(query.data.data)}</span>
        )}
      </p>
      <p className="mt-1 text-sm text-muted">{hasAudience ? campaigns.countHint : campaigns.chooseAudience}</p>
    </Card>
  )
}
