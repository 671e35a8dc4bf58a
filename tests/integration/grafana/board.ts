// The boards of this folder as Grafana publishes their form: the types of @grafana/schema, with the options of each
// kind of panel that is used.
import type { AnnotationQuery, Dashboard, Panel, RowPanel } from "./node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen";
import type * as timeseries from "./node_modules/@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen";
import type * as stat from "./node_modules/@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen";
import type * as bargauge from "./node_modules/@grafana/schema/dist/types/raw/composable/bargauge/panelcfg/x/types.gen";
import type * as table from "./node_modules/@grafana/schema/dist/types/raw/composable/table/panelcfg/x/types.gen";
import type * as text from "./node_modules/@grafana/schema/dist/types/raw/composable/text/panelcfg/x/types.gen";

type Deep<T> = T extends object ? { [K in keyof T]?: Deep<T[K]> } : T;

// A query of the data source Prometheus.
interface PrometheusQuery {
  refId: string;
  datasource?: { type: "prometheus"; uid: string };
  hide?: boolean;
  expr: string;
  format?: "time_series" | "table" | "heatmap";
  instant?: boolean;
  range?: boolean;
  interval?: string;
  legendFormat?: string;
}
// An annotation from a query; of its own fields too.
interface PrometheusAnnotation extends Omit<AnnotationQuery, "target"> {
  expr: string;
  step?: string;
  tagKeys?: string;
  titleFormat?: string;
}
interface Fields<Custom> {
  defaults: Omit<NonNullable<Panel["fieldConfig"]>["defaults"], "custom"> & { custom?: Deep<Custom> };
  overrides: NonNullable<Panel["fieldConfig"]>["overrides"];
}
interface PanelOf<Type extends string, Options, Custom> extends Omit<Panel, "type" | "options" | "fieldConfig" | "targets"> {
  type: Type;
  options: Deep<Options>;
  fieldConfig: Fields<Custom>;
  targets: PrometheusQuery[];
}
type AnyPanel =
  | PanelOf<"timeseries", timeseries.Options, timeseries.FieldConfig>
  | PanelOf<"stat", stat.Options, {}>
  | PanelOf<"bargauge", bargauge.Options, {}>
  | PanelOf<"table", table.Options, table.FieldConfig>
  | (Omit<Panel, "type" | "options" | "targets"> & { type: "text"; options: text.Options })
  | (Omit<RowPanel, "panels"> & { panels: [] });

export interface Board extends Omit<Dashboard, "panels" | "annotations"> {
  annotations: { list: PrometheusAnnotation[] };
  panels: AnyPanel[];
}
