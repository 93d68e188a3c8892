/** Asks before a scheduled campaign starts at once, and names the number of its recipients, counted now. */
import type { ReactNode } from 'react'
import { previewCampaign, startCampaign } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import type { CampaignDialogProps } from './campaign-actions.tsx'
import { useCountText } from './recipient-count.tsx'

export function StartNowDialog({ campaign, isOpen, onClose }: CampaignDialogProps): ReactNode {
  const { campaigns } = useTexts()
  const countText = useCountText()
  const params = { id: campaign.id }
  const query = useApi(previewCampaign, { params }, { isEnabled: isOpen })
  const start = useAction(startCampaign, {
    invalidates: ['/public/campaigns', '/public/statistics'],
    onSuccess: onClose,
    onError: () => undefined,
  })
  const say = useServerText()
  const preview = query.data?.data
  const findings = (preview?.findings ?? []).filter(({ level }) => level !== 'green')
  const isRed = preview?.is_red === true
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={preview === undefined ? campaigns.startNowTitle : campaigns.startTitle(countText(preview))}
      text={
        <>
          <p>{campaigns.startText(campaign.subject ?? campaign.name, campaign.from ?? '')}</p>
          {findings.map(({ code, message, translation }) => (
            <p key={code + message} className={isRed ? 'mt-2 text-danger-text' : 'mt-2 text-warning-text'}>
              {say(message, translation)}
            </p>
          ))}
        </>
      }
      confirmLabel={isRed ? campaigns.startAnyway : campaigns.startNow}
      isLoading={start.isPending || (query.isFetching && preview === undefined)}
      error={query.error?.message ?? start.error?.message}
      onConfirm={() => start.mutate({ params, body: isRed ? { force: true } : {} })}
    />
  )
}
