/** A segment, new or stored: its conditions with a live count, and its contacts. */
import { useNavigate, useParams } from '@tanstack/react-router'
import { Download, Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import {
  createSegment,
  deleteSegment,
  exportContacts,
  getSegment,
  updateSegment,
  type CountedSegment,
} from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { ContactList } from '#dashboard/src/contact-list/contact-list.tsx'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useDownload } from '#dashboard/src/shared/use-download.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { fromFilter, newCondition, newGroup, toFilter } from './segment-document.ts'
import { SegmentForm, type SegmentDraft } from './segment-form.tsx'

type StoredSegment = CountedSegment['data']

export function SegmentPage(): ReactNode {
  const { segments } = useTexts()
  const { id = '' } = useParams({ strict: false })
  const isNew = id === 'new'
  const query = useApi(getSegment, { params: { id } }, { isEnabled: !isNew })
  if (query.isError) return <FailedQuery query={query} title={segments.notLoaded} />
  if (isNew) return <SegmentEditor key="new" stored={null} />
  return query.data === undefined ? <SkeletonLines lines={8} /> : <SegmentEditor key={id} stored={query.data.data} />
}

function draftOf(stored: StoredSegment | null): SegmentDraft {
  return {
    name: stored?.name ?? '',
    audienceId: stored?.audienceId ?? null,
    root: stored === null ? newGroup('all', [newCondition()]) : fromFilter(stored.filter),
  }
}

function useSaveSegment(stored: StoredSegment | null, onError: (error: ApiError) => void) {
  const { segments } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const toast = useToast()
  const shows = ['/public/segments', '/public/contacts/search']
  const options = { invalidates: shows, onError }
  const create = useAction(createSegment, {
    ...options,
    onSuccess: ({ data }) => {
      toast({ title: segments.saved, tone: 'success' })
      void navigate({ to: path(`/segments/${data.id}`) })
    },
  })
  const update = useAction(updateSegment, {
    ...options,
    onSuccess: () => toast({ title: segments.saved, tone: 'success' }),
  })
  const save = ({ name, audienceId, root }: SegmentDraft): void => {
    const body = { name, audience_id: audienceId, filter: toFilter(root) }
    if (stored === null) create.mutate({ body })
    else update.mutate({ params: { id: stored.id }, body })
  }
  return { save, isSaving: create.isPending || update.isPending }
}

function SegmentEditor({ stored }: { readonly stored: StoredSegment | null }): ReactNode {
  const { segments } = useTexts()
  const path = useWorkspacePath()
  const canWrite = useCan()('contacts:write')
  const [draft, setDraft] = useState(() => draftOf(stored))
  const [error, setError] = useState<ApiError | null>(null)
  const { save, isSaving } = useSaveSegment(stored, setError)
  return (
    <>
      <PageHeader
        title={stored?.name ?? segments.create}
        breadcrumbs={[{ label: segments.title, href: path('/contacts/segments') }]}
        actions={stored === null ? undefined : <SegmentActions segment={stored} />}
      />
      <div className="flex flex-col gap-8">
        <SegmentForm
          draft={draft}
          onChange={setDraft}
          error={error}
          isSaving={isSaving}
          isReadOnly={!canWrite}
          onSave={() => {
            setError(null)
            save(draft)
          }}
        />
        {stored !== null && (
          <Section title={segments.contacts} description={segments.contactsText}>
            <ContactList
              fixed={{ segmentId: stored.id }}
              empty={<p className="p-6 text-center text-muted">{segments.noContacts}</p>}
            />
          </Section>
        )}
      </div>
    </>
  )
}

function SegmentActions({ segment }: { readonly segment: StoredSegment }): ReactNode {
  const { contacts, segments } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const can = useCan()
  const [isAsking, setAsking] = useState(false)
  const download = useDownload(exportContacts, 'contacts.csv')
  const remove = useAction(deleteSegment, { onSuccess: () => void navigate({ to: path('/contacts/segments') }) })
  return (
    <>
      {can('contacts:export') && (
        <Button
          icon={Download}
          isLoading={download.isRunning}
          onClick={() => download.start({ query: { segmentId: segment.id } })}
        >
          {contacts.export}
        </Button>
      )}
      {can('contacts:write') && (
        <Button icon={Trash2} onClick={() => setAsking(true)}>
          {segments.remove}
        </Button>
      )}
      <ConfirmDialog
        isOpen={isAsking}
        onOpenChange={setAsking}
        title={segments.removeTitle(segment.name)}
        text={segments.removeText}
        confirmLabel={segments.remove}
        isDanger
        isLoading={remove.isPending}
        onConfirm={() => remove.mutate({ params: { id: segment.id } })}
      />
    </>
  )
}
