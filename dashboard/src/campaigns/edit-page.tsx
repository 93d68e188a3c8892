/** The four steps of a draft. Each has an address; what is typed is saved as one goes. */
import { useParams } from '@tanstack/react-router'
import { Check, LoaderCircle, TriangleAlert } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { getCampaign } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { Stepper } from '#dashboard/src/ui/stepper.tsx'
import { CampaignActions } from './campaign-actions.tsx'
import type { Campaign } from './campaign-state.ts'
import { CampaignStatus } from './campaign-status.tsx'
import { CheckStep } from './check-step.tsx'
import { problemOf, readPlan } from './send-plan.ts'
import { useDraft, type Draft } from './use-draft.ts'
import { WhatStep } from './what-step.tsx'
import { WhenStep } from './when-step.tsx'
import { WhoStep } from './who-step.tsx'

const STEPS = ['who', 'what', 'when', 'check'] as const
type StepName = (typeof STEPS)[number]

export function EditPage(): ReactNode {
  const { campaigns } = useTexts()
  const path = useWorkspacePath()
  const { id = '', step }: { readonly id?: string; readonly step?: string } = useParams({ strict: false })
  const query = useApi(getCampaign, { params: { id } })
  const breadcrumbs = [{ label: campaigns.title, href: path('/campaigns') }]
  if (query.data !== undefined)
    return (
      <Editor
        key={id}
        campaign={query.data.data}
        step={STEPS.find((one) => one === step) ?? 'who'}
        breadcrumbs={breadcrumbs}
      />
    )
  return (
    <>
      <PageHeader
        title={query.error === null ? <Skeleton className="h-7 w-56" /> : campaigns.one}
        breadcrumbs={breadcrumbs}
      />
      {query.error === null ? (
        <Skeleton className="h-96 w-full" />
      ) : (
        <FailedQuery query={query} title={campaigns.oneNotLoaded} />
      )}
    </>
  )
}

interface EditorProps {
  readonly campaign: Campaign
  readonly step: StepName
  readonly breadcrumbs: readonly { label: string; href: string }[]
}

function Editor({ campaign, step, breadcrumbs }: EditorProps): ReactNode {
  const { campaigns } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const draft = useDraft(campaign)
  const [search] = useAddressSearch()
  const plan = readPlan(search)
  const isDone = doneSteps(draft, problemOf(plan, Date.now()) === null)
  const href = (to: StepName): string => path(`/campaigns/${campaign.id}/edit/${to}`, search)
  if (campaign.status !== 'DRAFT') return <NotDraft campaign={campaign} breadcrumbs={breadcrumbs} />
  return (
    <>
      <PageHeader
        title={campaign.name}
        status={<CampaignStatus status={campaign.status} />}
        breadcrumbs={breadcrumbs}
        actions={
          <>
            <SaveState draft={draft} />
            <CampaignActions campaign={campaign} />
          </>
        }
      />
      <div className="mb-6">
        <Stepper
          label={campaigns.stepsLabel}
          currentKey={step}
          steps={STEPS.map((key) => ({ key, label: campaigns.steps[key], isDone: isDone[key], href: href(key) }))}
        />
      </div>
      {!can('campaigns:write') && (
        <div className="mb-4">
          <Callout>{campaigns.mayNotChange}</Callout>
        </div>
      )}
      {/* a role that may not change the draft reads it */}
      <fieldset disabled={!can('campaigns:write')} className="contents">
        {step === 'who' && <WhoStep draft={draft} />}
        {step === 'what' && <WhatStep draft={draft} />}
        {step === 'when' && <WhenStep draft={draft} />}
      </fieldset>
      {step === 'check' && <CheckStep draft={draft} plan={plan} />}
      <StepLinks step={step} href={href} />
    </>
  )
}

function doneSteps({ fields }: Draft, isPlanned: boolean): Readonly<Record<StepName, boolean>> {
  const hasContent = fields.template_id !== null || (Boolean(fields.subject) && Boolean(fields.body ?? fields.text))
  return {
    who: fields.audience_ids.length > 0,
    what: hasContent && Boolean(fields.from),
    when: isPlanned && fields.audience_ids.length > 0 && hasContent,
    check: false,
  }
}

function StepLinks({ step, href }: { readonly step: StepName; readonly href: (step: StepName) => string }): ReactNode {
  const { campaigns } = useTexts()
  const index = STEPS.indexOf(step)
  const [previous, next] = [STEPS[index - 1], STEPS[index + 1]]
  return (
    <div className="mt-6 flex justify-between gap-3 border-t border-line pt-4">
      {previous === undefined ? <span /> : <ButtonLink href={href(previous)}>{campaigns.back}</ButtonLink>}
      {next !== undefined && (
        <ButtonLink variant="primary" href={href(next)}>
          {`${campaigns.next}: ${campaigns.steps[next]}`}
        </ButtonLink>
      )}
    </div>
  )
}

const SAVE_ICONS = { saved: Check, saving: LoaderCircle, failed: TriangleAlert }

function SaveState({ draft: { state } }: { readonly draft: Draft }): ReactNode {
  const { campaigns } = useTexts()
  const Icon = SAVE_ICONS[state]
  const text = { saved: campaigns.saved, saving: campaigns.saving, failed: campaigns.unsaved }[state]
  return (
    <span role="status" className="flex items-center gap-1.5 text-sm text-muted">
      <Icon size={14} aria-hidden="true" className={state === 'failed' ? 'text-danger-text' : ''} />
      {text}
    </span>
  )
}

function NotDraft({ campaign, breadcrumbs }: Omit<EditorProps, 'step'>): ReactNode {
  const { campaigns } = useTexts()
  const path = useWorkspacePath()
  return (
    <>
      <PageHeader
        title={campaign.name}
        status={<CampaignStatus status={campaign.status} />}
        breadcrumbs={breadcrumbs}
        actions={<CampaignActions campaign={campaign} />}
      />
      <EmptyState
        title={campaigns.notDraft}
        text={campaigns.notDraftText}
        action={
          <ButtonLink variant="primary" href={path(`/campaigns/${campaign.id}`)}>
            {campaigns.showCampaign}
          </ButtonLink>
        }
      />
    </>
  )
}
