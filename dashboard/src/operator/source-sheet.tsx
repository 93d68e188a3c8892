/** One sending address: its checks, its warm-up with the allowance of each receiver, and its actions. */
import type { ReactNode } from 'react'
import {
  adminBeginWarmUpSource,
  adminEndWarmUpSource,
  adminGetDeliverability,
  adminPauseSource,
  adminRemoveSource,
  adminResumeSource,
  type EgressSource,
} from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Meter } from '#dashboard/src/ui/meter.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'
import { useConfirmation, useOperatorAction } from './confirmation.tsx'
import { SOURCE_TONES } from './source-tones.ts'

const CHECK_TONES: Readonly<Record<string, Tone>> = { ok: 'success', warning: 'warning', failed: 'danger' }
const CHANGED = ['/admin/sources', '/admin/pools', '/admin/deliverability']

interface SourceSheetProps {
  readonly source: EgressSource | null
  readonly onClose: () => void
}

export function SourceSheet({ source, onClose }: SourceSheetProps): ReactNode {
  return (
    <Sheet isOpen={source !== null} onOpenChange={(open) => !open && onClose()} title={source?.name ?? ''}>
      {source !== null && (
        <div className="flex flex-col gap-6">
          <SourceActions source={source} onRemoved={onClose} />
          <SourceFacts source={source} />
          {source.state === 'warming' && <Allowances source={source} />}
          <SourceChecks source={source} />
        </div>
      )}
    </Sheet>
  )
}

interface SourceProps {
  readonly source: EgressSource
}

function SourceFacts({ source }: SourceProps): ReactNode {
  const { operator } = useTexts()
  const { sources: texts } = operator
  return (
    <KeyValueList
      items={[
        {
          label: operator.state,
          value: <StatusBadge tone={SOURCE_TONES[source.state]}>{texts.states[source.state]}</StatusBadge>,
        },
        { label: texts.address, value: source.address },
        { label: texts.ehlo, value: source.ehlo_name },
        { label: texts.region, value: source.region },
        { label: texts.machine, value: source.machine ?? texts.unknownMachine },
        {
          label: texts.warmUp,
          value:
            source.warming_since === null ? (
              texts.warm
            ) : (
              <>
                {texts.warmUpSince} <RelativeTime value={source.warming_since} />
              </>
            ),
        },
        {
          label: texts.pools,
          value:
            source.pools.map(({ pool, weight }) => `${pool} (${texts.weight} ${weight})`).join(', ') || operator.none,
        },
      ]}
    />
  )
}

function Allowances({ source }: SourceProps): ReactNode {
  const { operator } = useTexts()
  const { sources: texts, receivers } = operator
  const { data } = useApi(adminGetDeliverability, {})
  const rows = (data?.data.receivers ?? []).flatMap(({ title, warm_ups: warmUps }) =>
    warmUps.filter((one) => one.source === source.name).map((one) => ({ title, ...one })),
  )
  return (
    <Section title={texts.allowances}>
      {rows.length === 0 && <p className="text-muted">{texts.noAllowances}</p>}
      <ul className="flex flex-col gap-3">
        {rows.map(({ title, day, taken, allowance }) => (
          <li key={title}>
            <Meter
              value={taken}
              max={allowance}
              label={`${title}, ${receivers.warmUpDay(day)}`}
              text={receivers.ofAllowance(String(taken), String(allowance))}
            />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function SourceChecks({ source }: SourceProps): ReactNode {
  const { operator } = useTexts()
  const say = useServerText()
  const { sources: texts } = operator
  return (
    <Section title={texts.checks}>
      {source.checks.length === 0 && <p className="text-muted">{texts.noChecks}</p>}
      <ul className="flex flex-col gap-3">
        {source.checks.map(({ check, status, detail, todo, checked_at: checkedAt, ...translations }) => (
          <li key={check} className="flex flex-col gap-0.5 text-sm">
            <span className="flex flex-wrap items-center gap-2">
              <span className="font-medium">{check}</span>
              <StatusBadge tone={CHECK_TONES[status] ?? 'neutral'}>{status}</StatusBadge>
              <span className="ml-auto text-muted">
                <RelativeTime value={checkedAt} />
              </span>
            </span>
            <span className="break-words">{say(detail, translations.detail_translation)}</span>
            {todo !== null && (
              <span className="break-words text-muted">{say(todo, translations.todo_translation)}</span>
            )}
          </li>
        ))}
      </ul>
    </Section>
  )
}

function SourceActions({ source, onRemoved }: SourceProps & { readonly onRemoved: () => void }): ReactNode {
  const { operator } = useTexts()
  const { sources: texts } = operator
  const [ask, dialog] = useConfirmation()
  const pause = useOperatorAction(adminPauseSource, CHANGED)
  const resume = useOperatorAction(adminResumeSource, CHANGED)
  const begin = useOperatorAction(adminBeginWarmUpSource, CHANGED)
  const end = useOperatorAction(adminEndWarmUpSource, CHANGED)
  const remove = useOperatorAction(adminRemoveSource, CHANGED)
  const input = { params: { name: source.name } }
  const button = (
    verb: 'pause' | 'resume' | 'begin' | 'end',
    run: (given: typeof input) => Promise<unknown>,
  ): ReactNode => (
    <Button
      size="sm"
      onClick={() =>
        ask({
          title: texts[`${verb}Title`](source.name),
          text: texts[`${verb}Text`],
          label: texts[verb],
          run: () => run(input),
        })
      }
    >
      {texts[verb]}
    </Button>
  )
  const confirmRemoval = (): void =>
    ask({
      title: texts.removeTitle(source.name),
      text: texts.removeText,
      label: texts.remove,
      isDanger: true,
      typeToConfirm: source.name,
      run: async () => {
        await remove(input)
        onRemoved()
      },
    })
  return (
    <div className="flex flex-wrap gap-2">
      {source.state === 'paused' ? button('resume', resume) : button('pause', pause)}
      {source.warming_since === null ? button('begin', begin) : button('end', end)}
      <Button size="sm" variant="danger" onClick={confirmRemoval}>
        {texts.remove}
      </Button>
      {dialog}
    </div>
  )
}
