/** What can be done with the selected contacts of a list. A request changes up to a thousand. */
import { Ban, Ellipsis, Tag, Trash2, UserMinus, Users } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { addSuppressions, changeContacts, type ChangeContactsBody } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TagInput } from '#dashboard/src/ui/tag-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { useAudienceChoices } from './audience-options.ts'

interface ContactBulkActionsProps {
  readonly contacts: readonly { readonly id: string; readonly email: string }[]
  readonly onDone: () => void
}

type Task = 'tags' | 'audience' | 'unsubscribe' | 'suppress' | 'delete'
const MOST = 1000

/** Sends the change in requests of a thousand, one after the other. */
function useBulkChange(contacts: ContactBulkActionsProps['contacts'], onDone: () => void) {
  const { contacts: texts } = useTexts()
  const toast = useToast()
  const action = useAction(changeContacts, {
    invalidates: ['/public/contacts', '/public/segments', '/public/audiences'],
  })
  const run = async (change: Omit<ChangeContactsBody, 'ids'>): Promise<void> => {
    let changed = 0
    for (let from = 0; from < contacts.length; from += MOST) {
      const ids = contacts.slice(from, from + MOST).map(({ id }) => id)
      changed += (await action.mutateAsync({ body: { ids, ...change } })).data.changed
    }
    toast({ title: change.delete === true ? texts.deletedMany(changed) : texts.changedMany(changed) })
    onDone()
  }
  // the provider of actions reports the error; the selection stays for another try
  return {
    run: (change: Omit<ChangeContactsBody, 'ids'>) => void run(change).catch(() => undefined),
    isRunning: action.isPending,
  }
}

export function ContactBulkActions({ contacts, onDone }: ContactBulkActionsProps): ReactNode {
  const { contacts: texts } = useTexts()
  const can = useCan()
  const [task, setTask] = useState<Task | null>(null)
  const finish = (): void => {
    setTask(null)
    onDone()
  }
  const { run, isRunning } = useBulkChange(contacts, finish)
  const suppress = useAction(addSuppressions, {
    invalidates: ['/public/suppressions', '/public/contacts'],
    onSuccess: finish,
  })
  const close = (isOpen: boolean): void => {
    if (!isOpen) setTask(null)
  }
  const count = contacts.length
  return (
    <>
      <Button size="sm" icon={Tag} onClick={() => setTask('tags')}>
        {texts.changeTags}
      </Button>
      <Button size="sm" icon={Users} onClick={() => setTask('audience')}>
        {texts.addToAudience}
      </Button>
      <Menu
        side="top"
        trigger={<IconButton size="sm" icon={Ellipsis} label={texts.moreActions} />}
        groups={[
          {
            items: [
              { label: texts.unsubscribe, icon: UserMinus, onSelect: () => setTask('unsubscribe') },
              {
                label: texts.suppress,
                icon: Ban,
                isDisabled: !can('suppressions:write'),
                onSelect: () => setTask('suppress'),
              },
              { label: texts.remove, icon: Trash2, isDanger: true, onSelect: () => setTask('delete') },
            ],
          },
        ]}
      />
      {task === 'tags' && <TagsDialog onClose={close} onApply={run} isRunning={isRunning} count={count} />}
      {task === 'audience' && <AudienceDialog onClose={close} onApply={run} isRunning={isRunning} count={count} />}
      <ConfirmDialog
        isOpen={task === 'unsubscribe'}
        onOpenChange={close}
        title={texts.unsubscribeMany(count)}
        text={texts.unsubscribeText}
        confirmLabel={texts.unsubscribe}
        isLoading={isRunning}
        onConfirm={() => run({ unsubscribe: true })}
      />
      <ConfirmDialog
        isOpen={task === 'suppress'}
        onOpenChange={close}
        title={texts.suppressMany(count)}
        text={texts.suppressText}
        confirmLabel={texts.suppress}
        isDanger
        isLoading={suppress.isPending}
        onConfirm={() => suppress.mutate({ body: { suppressions: contacts.slice(0, MOST).map(({ email }) => email) } })}
      />
      <ConfirmDialog
        isOpen={task === 'delete'}
        onOpenChange={close}
        title={texts.deleteMany(count)}
        text={texts.deleteText}
        confirmLabel={texts.remove}
        isDanger
        isLoading={isRunning}
        onConfirm={() => run({ delete: true })}
      />
    </>
  )
}

interface BulkDialogProps {
  readonly count: number
  readonly isRunning: boolean
  readonly onClose: (isOpen: boolean) => void
  readonly onApply: (change: Omit<ChangeContactsBody, 'ids'>) => void
}

function TagsDialog({ count, isRunning, onClose, onApply }: BulkDialogProps): ReactNode {
  const { contacts: texts } = useTexts()
  const [added, setAdded] = useState<string[]>([])
  const [removed, setRemoved] = useState<string[]>([])
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={texts.changeTagsOf(count)}
      onSubmit={() => onApply({ add_tags: added, remove_tags: removed })}
      footer={
        <Button type="submit" variant="primary" isLoading={isRunning} disabled={added.length + removed.length === 0}>
          {texts.apply}
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <Field label={texts.addTags}>
          <TagInput value={added} onChange={setAdded} placeholder={texts.tagPlaceholder} />
        </Field>
        <Field label={texts.removeTags}>
          <TagInput value={removed} onChange={setRemoved} />
        </Field>
      </div>
    </Dialog>
  )
}

function AudienceDialog({ count, isRunning, onClose, onApply }: BulkDialogProps): ReactNode {
  const { contacts: texts } = useTexts()
  const choices = useAudienceChoices()
  const [audience, setAudience] = useState<string | null>(null)
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={texts.addManyToAudience(count)}
      description={texts.addToAudienceText}
      onSubmit={() => {
        if (audience !== null) onApply({ audience_id: audience })
      }}
      footer={
        <Button type="submit" variant="primary" isLoading={isRunning} disabled={audience === null}>
          {texts.addToAudience}
        </Button>
      }
    >
      <Field label={texts.audience}>
        <Select value={audience} onChange={setAudience} options={choices} />
      </Field>
    </Dialog>
  )
}
