/** What one can do with a campaign in its present state; what cannot be undone asks first. */
import { useNavigate } from '@tanstack/react-router'
import { CircleX, Ellipsis, Pause, Pencil, Play, Repeat, Reply, Send, Trash2, Undo2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { deleteCampaign, pauseCampaign, recallCampaign, resumeCampaign } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu, type MenuItem } from '#dashboard/src/ui/menu.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { CancelDialog, FollowUpDialog, RetryDialog } from './campaign-dialogs.tsx'
import { StartNowDialog } from './start-now-dialog.tsx'
import { actionsOf, type Campaign, type CampaignAction } from './campaign-state.ts'

const CHANGED = { invalidates: ['/public/campaigns', '/public/statistics'] }

export function CampaignActions({ campaign }: { readonly campaign: Campaign }): ReactNode {
  const { campaigns } = useTexts()
  const can = useCan()
  const [dialog, setDialog] = useState<CampaignAction | null>(null)
  const params = { id: campaign.id }
  const pause = useAction(pauseCampaign, CHANGED)
  const resume = useAction(resumeCampaign, CHANGED)
  const recall = useAction(recallCampaign, CHANGED)
  const permitted = actionsOf(campaign).filter((action) =>
    can(action === 'edit' || action === 'remove' ? 'campaigns:write' : 'campaigns:send'),
  )
  const has = (action: CampaignAction): boolean => permitted.includes(action)
  const close = (): void => setDialog(null)
  const more: readonly (MenuItem & { readonly action: CampaignAction })[] = [
    { action: 'retry', label: campaigns.retry, icon: Repeat, onSelect: () => setDialog('retry') },
    { action: 'follow-up', label: campaigns.followUp, icon: Reply, onSelect: () => setDialog('follow-up') },
    { action: 'start', label: campaigns.startNow, icon: Send, onSelect: () => setDialog('start') },
    { action: 'cancel', label: campaigns.cancel, icon: CircleX, isDanger: true, onSelect: () => setDialog('cancel') },
    { action: 'remove', label: campaigns.remove, icon: Trash2, isDanger: true, onSelect: () => setDialog('remove') },
  ]
  const items = more.filter(({ action }) => has(action))
  return (
    <>
      {has('pause') && (
        <Button icon={Pause} isLoading={pause.isPending} onClick={() => pause.mutate({ params })}>
          {campaigns.pause}
        </Button>
      )}
      {has('resume') && (
        <Button variant="primary" icon={Play} isLoading={resume.isPending} onClick={() => resume.mutate({ params })}>
          {campaigns.resume}
        </Button>
      )}
      {has('recall') && (
        <Button icon={Undo2} isLoading={recall.isPending} onClick={() => recall.mutate({ params })}>
          {campaigns.recall}
        </Button>
      )}
      {items.length > 0 && (
        <Menu
          trigger={<IconButton icon={Ellipsis} label={campaigns.more} variant="secondary" />}
          groups={[{ items }]}
        />
      )}
      <StartNowDialog campaign={campaign} isOpen={dialog === 'start'} onClose={close} />
      <CancelDialog campaign={campaign} isOpen={dialog === 'cancel'} onClose={close} />
      <RetryDialog campaign={campaign} isOpen={dialog === 'retry'} onClose={close} />
      <FollowUpDialog campaign={campaign} isOpen={dialog === 'follow-up'} onClose={close} />
      <RemoveDialog campaign={campaign} isOpen={dialog === 'remove'} onClose={close} />
    </>
  )
}

/** The way back into the steps of a draft, for its page. */
export function EditLink({ campaign }: { readonly campaign: Campaign }): ReactNode {
  const { campaigns } = useTexts()
  const path = useWorkspacePath()
  return (
    <ButtonLink variant="primary" icon={Pencil} href={path(`/campaigns/${campaign.id}/edit/who`)}>
      {campaigns.edit}
    </ButtonLink>
  )
}

export interface CampaignDialogProps {
  readonly campaign: Campaign
  readonly isOpen: boolean
  readonly onClose: () => void
}

function RemoveDialog({ campaign, isOpen, onClose }: CampaignDialogProps): ReactNode {
  const { campaigns } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const toast = useToast()
  const remove = useAction(deleteCampaign, {
    onSuccess: () => {
      toast({ title: campaigns.removed })
      void navigate({ to: path('/campaigns') })
    },
  })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={campaigns.removeTitle(campaign.name)}
      text={campaigns.removeText}
      confirmLabel={campaigns.remove}
      isDanger
      isLoading={remove.isPending}
      error={remove.error?.message}
      onConfirm={() => remove.mutate({ params: { id: campaign.id } })}
    />
  )
}
