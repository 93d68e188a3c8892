import type { ReactNode } from 'react'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'

const PATHS = { general: '/settings', branding: '/settings/branding' } as const

export type SettingsTab = keyof typeof PATHS

const TABS = Object.keys(PATHS) as SettingsTab[]

/** The pages of the settings. */
export function SettingsTabs({ current }: { readonly current: SettingsTab }): ReactNode {
  const { people } = useTexts()
  const texts = people.settings
  const path = useWorkspacePath()
  return (
    <LinkTabs
      label={texts.title}
      tabs={TABS.map((tab) => ({ href: path(PATHS[tab]), label: texts.tabs[tab], isCurrent: tab === current }))}
    />
  )
}
