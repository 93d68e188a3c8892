/** Who is or was in an automation, with the next step; a contact opens its path on the canvas. */
import { UserPlus, Users } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import {
  enrollContact,
  getAutomationSubscribers,
  type GetAutomationSubscribersAnswer,
} from '#dashboard/src/api/endpoints.ts'
import { useAction, useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { FilterBar } from '#dashboard/src/ui/filter-bar.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import type { Automation } from './automation-status.tsx'
import { findStep, type FlowStep } from './flow-document.ts'

type Subscriber = GetAutomationSubscribersAnswer['data']['subscribers'][number]
const STATUSES = ['active', 'completed', 'exited'] as const
const TONES = { active: 'accent', completed: 'success', exited: 'neutral' } as const

export function AutomationContacts({ automation }: { readonly automation: Automation }): ReactNode {
  const { automations } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const status = STATUSES.find((one) => one === search['status'])
  const list = useApiList(
    getAutomationSubscribers,
    { params: { id: automation.id }, query: { limit: 100, ...(status === undefined ? {} : { status }) } },
    { items: ({ data }) => data.subscribers, nextCursor: ({ data }) => data.next_cursor, keepsPrevious: true },
  )
  const columns = useColumns(automation)
  return (
    <>
      <div className="mb-3">
        <FilterBar
          filters={[
            {
              key: 'status',
              label: automations.state,
              options: STATUSES.map((value) => ({ value, label: automations.subscriberStatus[value] })),
            },
          ]}
          value={status === undefined ? {} : { status }}
          onChange={(value) => changeSearch({ status: value['status'] })}
          actions={
            can('automations:write') && automation.status === 'active' ? (
              <Button icon={UserPlus} onClick={() => changeSearch({ enrol: '1' })}>
                {automations.enrol}
              </Button>
            ) : undefined
          }
        />
      </div>
      <Card padding="none">
        <DataTable
          label={automations.tabs.contacts}
          columns={columns}
          rows={list.query.isPending ? null : list.items}
          getRowId={(row) => row.id}
          getHref={(row) => path(`/automations/${automation.id}`, { contact: row.id })}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          error={
            list.query.error === null ? null : (
              <FailedQuery query={list.query} title={automations.subscribersNotLoaded} />
            )
          }
          empty={<EmptyState icon={Users} title={automations.noSubscribers} text={automations.noSubscribersText} />}
        />
      </Card>
      <EnrolDialog
        automation={automation}
        isOpen={search['enrol'] !== undefined}
        onClose={() => changeSearch({ enrol: undefined })}
      />
    </>
  )
}

function useColumns(automation: Automation): readonly DataColumn<Subscriber>[] {
  const { automations } = useTexts()
  const say = useServerText()
  const steps = automation.steps as unknown as readonly FlowStep[]
  const nameOf = (id: string | null): string => {
    const step = id === null ? undefined : findStep(steps, id)
    return step === undefined ? '–' : automations.types[step.type]
  }
  return [
    { id: 'email', header: automations.email, cell: (row) => <EmailAddress address={row.email} /> },
    {
      id: 'status',
      header: automations.state,
      cell: (row) => <StatusBadge tone={TONES[row.status]}>{automations.subscriberStatus[row.status]}</StatusBadge>,
      width: '9rem',
    },
    {
      id: 'next',
      header: automations.nextStep,
      cell: (row) => (
        <span className="truncate">
          {row.reason === null ? nameOf(row.next_step) : say(row.reason, row.reason_translation)}
        </span>
      ),
      priority: 2,
    },
    {
      id: 'due',
      header: automations.due,
      cell: (row) => (row.due_at === null ? '–' : <RelativeTime value={row.due_at} />),
      width: '10rem',
      priority: 2,
    },
    {
      id: 'enrolled',
      header: automations.enrolledAt,
      cell: (row) => <RelativeTime value={row.enrolled_at} />,
      width: '10rem',
      priority: 3,
    },
  ]
}

interface EnrolDialogProps {
  readonly automation: Automation
  readonly isOpen: boolean
  readonly onClose: () => void
}

function EnrolDialog({ automation, isOpen, onClose }: EnrolDialogProps): ReactNode {
  const { automations, ui } = useTexts()
  const toast = useToast()
  const [email, setEmail] = useState('')
  const [error, setError] = useState<ApiError | null>(null)
  const enrol = useAction(enrollContact, {
    invalidates: ['/public/automations'],
    onSuccess: ({ data }) => {
      toast({ title: data.enrolled > 0 ? automations.enrolledOne(email) : automations.notEnrolled(email) })
      setEmail('')
      onClose()
    },
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['email'])
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={automations.enrol}
      description={automations.enrolText}
      size="sm"
      onSubmit={() => {
        setError(null)
        enrol.mutate({ params: { id: automation.id }, body: { email: email.trim() } })
      }}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={enrol.isPending}>
            {automations.enrol}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Field label={automations.email} error={errors.of('email')} isRequired>
          <TextInput type="email" value={email} onChange={setEmail} autoFocus />
        </Field>
      </div>
    </Dialog>
  )
}
