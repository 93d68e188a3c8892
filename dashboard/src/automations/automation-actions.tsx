/** Activates, pauses and ends an automation, tries it, and makes a new webhook secret. */
import { useNavigate } from '@tanstack/react-router'
import { Archive, Ellipsis, FlaskConical, KeyRound, Pause, Play, Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { deleteAutomation, rotateAutomationWebhookSecret } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { SecretDialog } from '#dashboard/src/shared/secret-dialog.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { formatNumber } from '#dashboard/src/ui/format.ts'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu, type MenuItem } from '#dashboard/src/ui/menu.tsx'
import type { Automation } from './automation-status.tsx'
import { DryRunDialog } from './dry-run-dialog.tsx'
import type { Flow } from './use-flow.ts'

interface AutomationActionsProps {
  readonly automation: Automation
  readonly flow: Flow
}

type Dialog = 'archive' | 'remove' | 'rotate'

export function AutomationActions({ automation, flow }: AutomationActionsProps): ReactNode {
  const { automations } = useTexts()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const { status } = automation
  const mayWrite = can('automations:write')
  const items: readonly (MenuItem & { isShown: boolean })[] = [
    {
      isShown: can('automations:secret'),
      label: automations.rotate,
      icon: KeyRound,
      onSelect: () => setDialog('rotate'),
    },
    {
      isShown: mayWrite && status !== 'archived',
      label: automations.archive,
      icon: Archive,
      isDanger: true,
      onSelect: () => setDialog('archive'),
    },
    {
      isShown: mayWrite && status === 'draft',
      label: automations.remove,
      icon: Trash2,
      isDanger: true,
      onSelect: () => setDialog('remove'),
    },
  ]
  const shown = items.filter(({ isShown }) => isShown)
  const close = (): void => setDialog(null)
  return (
    <>
      <Button icon={FlaskConical} onClick={() => changeSearch({ try: '1' })}>
        {automations.dryRun}
      </Button>
      {mayWrite && (status === 'draft' || status === 'paused') && (
        <Button variant="primary" icon={Play} isLoading={flow.isSaving} onClick={() => flow.save({ status: 'active' })}>
          {status === 'draft' ? automations.activate : automations.resume}
        </Button>
      )}
      {mayWrite && status === 'active' && (
        <Button icon={Pause} isLoading={flow.isSaving} onClick={() => flow.save({ status: 'paused' })}>
          {automations.pause}
        </Button>
      )}
      {shown.length > 0 && (
        <Menu
          trigger={<IconButton icon={Ellipsis} label={automations.more} variant="secondary" />}
          groups={[{ items: shown }]}
        />
      )}
      <DryRunDialog
        automation={automation}
        isUnsaved={flow.isChanged}
        isOpen={search['try'] !== undefined}
        onClose={() => changeSearch({ try: undefined })}
      />
      <ArchiveDialog automation={automation} flow={flow} isOpen={dialog === 'archive'} onClose={close} />
      <RemoveDialog automation={automation} isOpen={dialog === 'remove'} onClose={close} />
      <RotateDialog isOpen={dialog === 'rotate'} onClose={close} />
    </>
  )
}

interface OpenProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

function ArchiveDialog({ automation, flow, isOpen, onClose }: AutomationActionsProps & OpenProps): ReactNode {
  const { automations, ui } = useTexts()
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={automations.archiveTitle(automation.name)}
      text={automations.archiveText(formatNumber(automation.active_count, ui.locale))}
      confirmLabel={automations.archive}
      isDanger
      isLoading={flow.isSaving}
      onConfirm={() => {
        flow.save({ status: 'archived' })
        onClose()
      }}
    />
  )
}

function RemoveDialog({ automation, isOpen, onClose }: OpenProps & { readonly automation: Automation }): ReactNode {
  const { automations } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const remove = useAction(deleteAutomation, { onSuccess: () => void navigate({ to: path('/automations') }) })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={automations.removeTitle(automation.name)}
      text={automations.removeText}
      confirmLabel={automations.remove}
      isDanger
      isLoading={remove.isPending}
      error={remove.error?.message}
      onConfirm={() => remove.mutate({ params: { id: automation.id } })}
    />
  )
}

function RotateDialog({ isOpen, onClose }: OpenProps): ReactNode {
  const { automations } = useTexts()
  const [secret, setSecret] = useState<string | null>(null)
  const rotate = useAction(rotateAutomationWebhookSecret, {
    onSuccess: ({ data }) => {
      setSecret(data.secret)
      onClose()
    },
  })
  return (
    <>
      <ConfirmDialog
        isOpen={isOpen}
        onOpenChange={(open) => !open && onClose()}
        title={automations.rotateTitle}
        text={automations.rotateText}
        confirmLabel={automations.rotate}
        isLoading={rotate.isPending}
        error={rotate.error?.message}
        onConfirm={() => rotate.mutate({})}
      />
      {secret !== null && (
        <SecretDialog
          title={automations.secret}
          secret={secret}
          copyLabel={automations.secret}
          onDone={() => setSecret(null)}
        />
      )}
    </>
  )
}
