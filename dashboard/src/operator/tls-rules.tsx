/** The TLS level of recipient domains that the operator set. */
import { Plus } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { adminListTlsRules, adminSetTlsRule, adminUnsetTlsRule, type TlsRule } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { RadioCards } from '#dashboard/src/ui/radio-cards.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { ActionDialog } from './action-dialog.tsx'
import { useConfirmation, useOperatorAction } from './confirmation.tsx'
import { Loaded, PlainTable } from './loaded.tsx'

const LEVELS = ['required', 'opportunistic'] as const
const CHANGED = ['/admin/tls-rules']

export function TlsRules(): ReactNode {
  const { operator, administration } = useTexts()
  const { tls: texts } = administration
  const [search, changeSearch] = useAddressSearch()
  const query = useApi(adminListTlsRules, {})
  const [ask, dialog] = useConfirmation()
  const unset = useOperatorAction(adminUnsetTlsRule, CHANGED)
  const remove = (domain: string): void =>
    ask({
      title: texts.removeTitle(domain),
      text: texts.removeText,
      label: texts.remove,
      isDanger: true,
      run: () => unset({ params: { domain } }),
    })
  const columns: readonly DataColumn<TlsRule>[] = [
    { id: 'domain', header: operator.domain, cell: ({ domain }) => domain, sortValue: ({ domain }) => domain },
    {
      id: 'level',
      header: texts.level,
      cell: ({ level }) => <Badge tone={level === 'required' ? 'success' : 'warning'}>{texts.levels[level]}</Badge>,
      width: '12rem',
    },
    {
      id: 'remove',
      header: operator.actions,
      cell: ({ domain }) => (
        <Button size="sm" onClick={() => remove(domain)}>
          {texts.remove}
        </Button>
      ),
      width: '9rem',
    },
  ]
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="text-muted">{texts.rulesText}</p>
        <Button icon={Plus} onClick={() => changeSearch({ add: 'rule' })}>
          {texts.add}
        </Button>
      </div>
      <Loaded query={query} lines={3}>
        {({ data }) => (
          <PlainTable
            label={texts.views.rules}
            columns={columns}
            rows={data.rules}
            getRowId={({ domain }) => domain}
            empty={<EmptyState title={texts.noRules} text={texts.rulesText} />}
          />
        )}
      </Loaded>
      {search['add'] === 'rule' && <SetRuleDialog onClose={() => changeSearch({ add: undefined })} />}
      {dialog}
    </div>
  )
}

function SetRuleDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { operator, administration } = useTexts()
  const { tls: texts } = administration
  const [domain, setDomain] = useState('')
  const [level, setLevel] = useState<(typeof LEVELS)[number]>('required')
  const set = useOperatorAction(adminSetTlsRule, CHANGED)
  return (
    <ActionDialog
      title={texts.add}
      text={texts.rulesText}
      label={texts.save}
      isReady={domain.trim() !== ''}
      fields={['domain', 'level']}
      run={() => set({ params: { domain: domain.trim() }, body: { level } })}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <Field label={operator.domain} error={errors.of('domain')} isRequired>
            <TextInput value={domain} onChange={setDomain} isMono placeholder="example.com" />
          </Field>
          <RadioCards
            label={texts.level}
            value={level}
            onChange={setLevel}
            options={LEVELS.map((value) => ({
              value,
              label: texts.levels[value],
              description: texts.levelTexts[value],
            }))}
          />
        </>
      )}
    </ActionDialog>
  )
}
