import { PageHeader } from '#dashboard/src/ui/page-header.tsx'

/** All components with realistic data: `/ui`. */
export function UiGallery() {
  return (
    <main className="p-6">
      <PageHeader title="Components" />
    </main>
  )
}
