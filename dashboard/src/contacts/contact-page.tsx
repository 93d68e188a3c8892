/** A person: profile, audiences, score, what was sent, and what the law asks for. */
import { useNavigate, useParams } from '@tanstack/react-router'
import { Ban, Download, Ellipsis, Eraser, Pencil, Trash2, UserMinus } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import {
  addSuppressions,
  changeContacts,
  exportPerson,
  getContact,
  type Contact,
} from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useDownload } from '#dashboard/src/shared/use-download.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { EditContactDialog } from './contact-form-dialog.tsx'
import { ContactHistory } from './contact-history.tsx'
import { ContactProfile } from './contact-profile.tsx'
import { ErasureDialog, ErasureProgress } from './erasure-dialog.tsx'

export function ContactPage(): ReactNode {
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const { id = '' } = useParams({ strict: false })
  const [{ erasure }, change] = useAddressSearch()
  const leave = (isDone: boolean): void =>
    isDone ? void navigate({ to: path('/contacts') }) : change({ erasure: undefined })
  // the contact is among the first that is erased: nothing about it is shown or asked for meanwhile
  return erasure === undefined ? <ContactDetails id={id} /> : <ErasureProgress id={erasure} onClose={leave} />
}

function ContactDetails({ id }: { readonly id: string }): ReactNode {
  const { contacts } = useTexts()
  const path = useWorkspacePath()
  const [search, change] = useAddressSearch()
  const query = useApi(getContact, { query: { id } })
  const contact = query.data?.data
  if (query.isError) return <FailedQuery query={query} title={contacts.contactNotLoaded} />
  const name = [contact?.firstName, contact?.lastName].filter(Boolean).join(' ')
  return (
    <>
      <PageHeader
        title={<span className="break-all">{contact?.email ?? '…'}</span>}
        description={name === '' ? undefined : name}
        breadcrumbs={[{ label: contacts.title, href: path('/contacts') }]}
        actions={
          contact === undefined ? undefined : (
            <ContactActions
              contact={contact}
              onEdit={() => change({ dialog: 'edit' })}
              onErase={(erasure) => change({ erasure })}
            />
          )
        }
      />
      {contact === undefined ? (
        <SkeletonLines lines={8} />
      ) : (
        <div className="flex flex-col gap-6">
          <ContactNotices contact={contact} />
          <div className="grid gap-8 lg:grid-cols-[minmax(0,1fr)_22rem]">
            <ContactHistory id={contact.id} />
            <ContactProfile contact={contact} />
          </div>
        </div>
      )}
      {contact !== undefined && search['dialog'] === 'edit' && (
        <EditContactDialog contact={contact} onClose={() => change({ dialog: undefined })} />
      )}
    </>
  )
}

function ContactNotices({ contact }: { readonly contact: Contact }): ReactNode {
  const { contacts } = useTexts()
  const path = useWorkspacePath()
  return (
    <>
      {contact.globalStatus === 'blocked' && (
        <Callout
          tone="warning"
          title={contacts.suppressedTitle}
          action={
            <LinkText href={path('/suppressions', { q: contact.email, entry: contact.email })}>
              {contacts.showSuppression}
            </LinkText>
          }
        >
          {contacts.suppressedText}
        </Callout>
      )}
      {contact.optedOut && (
        <Callout tone="warning" title={contacts.optedOutTitle}>
          {contacts.optedOutText}
        </Callout>
      )}
    </>
  )
}

type Task = 'unsubscribe' | 'suppress' | 'delete' | 'erase'

interface ContactActionsProps {
  readonly contact: Contact
  readonly onEdit: () => void
  /** An erasure with this id has begun. */
  readonly onErase: (id: string) => void
}

function ContactActions({ contact, onEdit, onErase }: ContactActionsProps): ReactNode {
  const { contacts } = useTexts()
  const can = useCan()
  const [task, setTask] = useState<Task | null>(null)
  const download = useDownload(exportPerson, 'person.ndjson')
  const [canWrite, canErase] = [can('contacts:write'), can('privacy:manage')]
  const isSuppressed = contact.globalStatus === 'blocked'
  return (
    <>
      {canWrite && (
        <Button icon={Pencil} onClick={onEdit}>
          {contacts.edit}
        </Button>
      )}
      {(canWrite || canErase) && (
        <Menu
          trigger={
            <IconButton
              variant="secondary"
              icon={Ellipsis}
              label={contacts.moreActions}
              isLoading={download.isRunning}
            />
          }
          groups={[
            {
              items: [
                {
                  label: contacts.unsubscribe,
                  icon: UserMinus,
                  isDisabled: !canWrite || contact.status !== 'subscribed',
                  onSelect: () => setTask('unsubscribe'),
                },
                {
                  label: contacts.suppress,
                  icon: Ban,
                  isDisabled: !can('suppressions:write') || isSuppressed,
                  onSelect: () => setTask('suppress'),
                },
              ],
            },
            {
              items: [
                {
                  label: contacts.exportPerson,
                  icon: Download,
                  isDisabled: !canErase,
                  onSelect: () => download.start({ body: { email: contact.email } }),
                },
                {
                  label: contacts.erasePerson,
                  icon: Eraser,
                  isDanger: true,
                  isDisabled: !canErase,
                  onSelect: () => setTask('erase'),
                },
                {
                  label: contacts.remove,
                  icon: Trash2,
                  isDanger: true,
                  isDisabled: !canWrite,
                  onSelect: () => setTask('delete'),
                },
              ],
            },
          ]}
        />
      )}
      <ContactTask contact={contact} task={task} onErase={onErase} onClose={() => setTask(null)} />
    </>
  )
}

interface ContactTaskProps {
  readonly contact: Contact
  readonly task: Task | null
  readonly onErase: (id: string) => void
  readonly onClose: () => void
}

function ContactTask({ contact, task, onErase, onClose }: ContactTaskProps): ReactNode {
  const { contacts } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const shows = ['/public/contacts', '/public/suppressions', '/public/segments', '/public/audiences']
  const change = useAction(changeContacts, { invalidates: shows, onSuccess: onClose })
  const remove = useAction(changeContacts, {
    invalidates: shows.slice(2),
    onSuccess: () => void navigate({ to: path('/contacts') }),
  })
  const suppress = useAction(addSuppressions, { invalidates: shows, onSuccess: onClose })
  const ids = [contact.id]
  if (task === 'erase') return <ErasureDialog email={contact.email} onErase={onErase} onClose={onClose} />
  return (
    <>
      <ConfirmDialog
        isOpen={task === 'unsubscribe'}
        onOpenChange={onClose}
        title={contacts.unsubscribeMany(1)}
        text={contacts.unsubscribeText}
        confirmLabel={contacts.unsubscribe}
        isLoading={change.isPending}
        onConfirm={() => change.mutate({ body: { ids, unsubscribe: true } })}
      />
      <ConfirmDialog
        isOpen={task === 'suppress'}
        onOpenChange={onClose}
        title={contacts.suppressMany(1)}
        text={contacts.suppressText}
        confirmLabel={contacts.suppress}
        isDanger
        isLoading={suppress.isPending}
        onConfirm={() => suppress.mutate({ body: { email: contact.email } })}
      />
      <ConfirmDialog
        isOpen={task === 'delete'}
        onOpenChange={onClose}
        title={contacts.deleteOneTitle}
        text={contacts.deleteText}
        confirmLabel={contacts.remove}
        isDanger
        isLoading={remove.isPending}
        onConfirm={() => remove.mutate({ body: { ids, delete: true } })}
      />
    </>
  )
}
