import { useEffect, useState, type ReactNode } from 'react'
import { getCampaigns } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import type { AddressSearch } from '#dashboard/src/shared/address-search.ts'
import { MESSAGE_STATUSES } from '#dashboard/src/shared/message-status.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { FilterBar, type FilterDefinition } from '#dashboard/src/ui/filter-bar.tsx'
import { SearchInput } from '#dashboard/src/ui/search-input.tsx'
import { useNavigateTo } from '#dashboard/src/ui/ui-link.tsx'
import { useDebounced } from '#dashboard/src/ui/use-debounced.ts'
import { FILTER_KEYS, messageIdIn, TIERS } from './message-filter.ts'
import { PeriodFilter } from './period-filter.tsx'

interface MessageFiltersProps {
  readonly search: AddressSearch
  readonly onChange: (change: Readonly<Record<string, string | undefined>>) => void
  readonly isSearching: boolean
}

const TYPING_MS = 250

export function MessageFilters({ search, onChange, isSearching }: MessageFiltersProps): ReactNode {
  const { messages, mailView } = useTexts()
  const campaigns = useCampaignOptions(search['campaign_id'])
  const value = Object.fromEntries(FILTER_KEYS.flatMap((key) => (search[key] ? [[key, search[key]]] : [])))
  return (
    <FilterBar
      search={<SearchField initial={search['q'] ?? ''} onChange={onChange} isSearching={isSearching} />}
      value={value}
      onChange={(next) => onChange(Object.fromEntries(FILTER_KEYS.map((key) => [key, next[key]])))}
      filters={[
        {
          key: 'status',
          label: messages.status,
          options: MESSAGE_STATUSES.map((status) => ({ value: status, label: mailView.statuses[status] })),
        },
        {
          key: 'tier',
          label: messages.tier,
          options: TIERS.map((tier) => ({ value: tier, label: messages.tiers[tier] })),
        },
        { key: 'recipient', label: messages.recipient, placeholder: messages.mailboxHint },
        { key: 'sender', label: messages.sender, placeholder: messages.mailboxHint },
        { key: 'subject', label: messages.subject, placeholder: messages.subjectHint },
        { key: 'tag', label: messages.tag },
        ...campaigns,
      ]}
      actions={
        <PeriodFilter period={search['period']} after={search['after']} before={search['before']} onChange={onChange} />
      }
    />
  )
}

const MAX_CAMPAIGNS = 50

/** The filter by campaign offers the newest ones; an older one comes here with the address. */
function useCampaignOptions(chosen: string | undefined): readonly FilterDefinition[] {
  const { messages } = useTexts()
  const mayRead = useCan()('campaigns:read')
  const answer = useApi(getCampaigns, { query: { limit: MAX_CAMPAIGNS } }, { isEnabled: mayRead, staleMs: 60_000 })
  const found = (answer.data?.data.campaigns ?? []).map(({ id, name }) => ({ value: id, label: name }))
  const options =
    chosen === undefined || found.some(({ value }) => value === chosen)
      ? found
      : [...found, { value: chosen, label: messages.chosenCampaign }]
  return options.length === 0 ? [] : [{ key: 'campaign_id', label: messages.campaign, options }]
}

interface SearchFieldProps {
  readonly initial: string
  readonly onChange: MessageFiltersProps['onChange']
  readonly isSearching: boolean
}

/** What is typed reaches the address after a moment. An id opens its message. */
function SearchField({ initial, onChange, isSearching }: SearchFieldProps): ReactNode {
  const { messages } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigateTo()
  const [text, setText] = useState(initial)
  const settled = useDebounced(text, TYPING_MS)
  useEffect(() => {
    if (settled === initial) return
    const id = messageIdIn(settled)
    if (id === null) onChange({ q: settled })
    else navigate(path(`/messages/${id}`))
    // only what was typed matters here: a changed address must not be overwritten
  }, [settled]) // eslint-disable-line react-hooks/exhaustive-deps
  return (
    <SearchInput
      label={messages.search}
      placeholder={messages.search}
      value={text}
      onChange={setText}
      isSearching={isSearching}
    />
  )
}
