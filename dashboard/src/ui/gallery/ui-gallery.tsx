import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { useTheme } from '#dashboard/src/ui/use-theme.ts'
import { Controls } from './controls.tsx'
import { Facts, Figures } from './display.tsx'
import { Foundations } from './foundations.tsx'
import { MailParts } from './mail.tsx'
import { Overlays } from './overlays.tsx'
import { Tables } from './tables.tsx'

const PARTS = [
  ['foundations', 'Foundations'],
  ['controls', 'Controls'],
  ['overlays', 'Overlays'],
  ['figures', 'Figures'],
  ['table', 'Tables'],
  ['facts', 'Facts and states'],
  ['mail', 'Mail'],
] as const

/** All components with realistic data: `/ui`. */
export function UiGallery() {
  const { theme, setTheme } = useTheme()
  return (
    <main className="mx-auto max-w-7xl px-4 py-6 sm:px-6 lg:px-8">
      <PageHeader
        title="Components"
        description="What the pages of the dashboard are made of."
        breadcrumbs={[{ label: 'Mailstead', href: '/' }]}
        actions={
          <SegmentedControl
            label="Theme"
            value={theme}
            onChange={setTheme}
            segments={[
              { value: 'light', label: 'Light' },
              { value: 'dark', label: 'Dark' },
              { value: 'system', label: 'System' },
            ]}
          />
        }
      />
      <nav aria-label="Parts" className="mb-8 flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {PARTS.map(([id, label]) => (
          <a key={id} href={`#${id}`} className="rounded-xs py-0.5 text-muted hover:text-ink">
            {label}
          </a>
        ))}
      </nav>
      <div className="flex flex-col gap-10">
        <Foundations />
        <Controls />
        <Overlays />
        <Figures />
        <Tables />
        <Facts />
        <MailParts />
      </div>
    </main>
  )
}
