/** Groups of sending addresses: a workspace or a domain sends from one of them. */
import { Plus } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { adminLeavePool, adminListPools, adminRemovePool, type EgressPool } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { useConfirmation, useOperatorAction } from './confirmation.tsx'
import { Loaded } from './loaded.tsx'
import { AddPoolDialog, JoinPoolDialog, UsePoolDialog } from './pool-dialogs.tsx'

const CHANGED = ['/admin/sources', '/admin/pools']

export function Pools({ sources }: { readonly sources: readonly string[] }): ReactNode {
  const { operator } = useTexts()
  const { sources: texts } = operator
  const [search, changeSearch] = useAddressSearch()
  const query = useApi(adminListPools, {})
  const pool = search['pool'] ?? ''
  const close = (): void => changeSearch({ add: undefined, pool: undefined })
  return (
    <Section
      title={texts.pools}
      description={texts.poolsText}
      actions={
        <Button icon={Plus} onClick={() => changeSearch({ add: 'pool' })}>
          {texts.addPool}
        </Button>
      }
    >
      <Loaded query={query} lines={3}>
        {({ data }) => (
          <div className="grid gap-4 lg:grid-cols-2">
            {data.pools.length === 0 && <p className="text-muted">{texts.noPools}</p>}
            {data.pools.map((one) => (
              <Pool key={one.name} pool={one} hasSources={sources.length > 0} />
            ))}
          </div>
        )}
      </Loaded>
      {search['add'] === 'pool' && <AddPoolDialog onClose={close} />}
      {search['add'] === 'member' && pool !== '' && <JoinPoolDialog pool={pool} sources={sources} onClose={close} />}
      {search['add'] === 'user' && pool !== '' && <UsePoolDialog pool={pool} onClose={close} />}
    </Section>
  )
}

interface PoolProps {
  readonly pool: EgressPool
  readonly hasSources: boolean
}

function Pool({ pool, hasSources }: PoolProps): ReactNode {
  const { operator } = useTexts()
  const { sources: texts } = operator
  const [, changeSearch] = useAddressSearch()
  const [ask, dialog] = useConfirmation()
  const remove = useOperatorAction(adminRemovePool, CHANGED)
  const leave = useOperatorAction(adminLeavePool, CHANGED)
  const confirmLeave = (source: string): void =>
    ask({
      title: texts.leaveTitle(source, pool.name),
      text: texts.leaveText,
      label: texts.leave,
      isDanger: true,
      run: () => leave({ params: { name: pool.name, source } }),
    })
  const confirmRemoval = (): void =>
    ask({
      title: texts.removePoolTitle(pool.name),
      text: texts.removePoolText,
      label: texts.remove,
      isDanger: true,
      run: () => remove({ params: { name: pool.name } }),
    })
  return (
    <Card className="flex min-w-0 flex-col gap-3">
      <div>
        <h3 className="font-medium break-words">{pool.name}</h3>
        <p className="text-sm text-muted">{texts.usedBy(pool.workspaces, pool.domains)}</p>
      </div>
      {pool.members.length === 0 && <p className="text-sm text-muted">{texts.noMembers}</p>}
      <ul className="flex flex-col divide-y divide-line">
        {pool.members.map(({ source, weight }) => (
          <li key={source} className="flex items-center gap-3 py-1.5">
            <span className="min-w-0 flex-1 truncate">{source}</span>
            <span className="text-sm text-muted">
              {texts.weight} {weight}
            </span>
            <Button size="sm" variant="ghost" onClick={() => confirmLeave(source)}>
              {texts.leave}
            </Button>
          </li>
        ))}
      </ul>
      <div className="mt-auto flex flex-wrap gap-2">
        <Button size="sm" disabled={!hasSources} onClick={() => changeSearch({ add: 'member', pool: pool.name })}>
          {texts.join}
        </Button>
        <Button size="sm" onClick={() => changeSearch({ add: 'user', pool: pool.name })}>
          {texts.use}
        </Button>
        <Button size="sm" variant="ghost" onClick={confirmRemoval}>
          {texts.remove}
        </Button>
      </div>
      {dialog}
    </Card>
  )
}
