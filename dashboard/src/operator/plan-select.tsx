import type { ReactNode } from 'react'
import { adminListPlans } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'

interface PlanSelectProps {
  readonly value: string | null
  readonly onChange: (plan: string) => void
}

/** The plans of this installation with what they allow. */
export function PlanSelect({ value, onChange }: PlanSelectProps): ReactNode {
  const { administration } = useTexts()
  const { workspaces: texts } = administration
  const { data } = useApi(adminListPlans, {}, { staleMs: 60_000 })
  const textOf = (limit: number | null): string | null => limit?.toString() ?? null
  return (
    <Select
      value={value}
      onChange={onChange}
      options={(data?.data.plans ?? []).map((plan) => ({
        value: plan.name,
        label: plan.name,
        description: texts.planText(texts.quota(textOf(plan.monthly_quota)), texts.domains(textOf(plan.max_domains))),
      }))}
    />
  )
}
