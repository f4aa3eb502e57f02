SELECT
  COUNT(*) AS `value`
FROM (
  SELECT
    `t0`.`subject_id`
  FROM `mimiciv_hosp`.`diagnoses_icd` AS `t0`
) AS `t1`;

SELECT
  COUNT(*) AS `value`
FROM (
  SELECT
    `t0`.`subject_id`
  FROM `mimiciv_hosp`.`procedures_icd` AS `t0`
) AS `t1`;

SELECT
  `t7`.`kind`,
  `t7`.`version`,
  `t7`.`code`,
  COUNT(*) AS `entries`
FROM (
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        'diagnoses_icd' AS `file`,
        `t2`.`line`,
        'icd_code' AS `field`,
        NULLIF(
          REGEXP_REPLACE(`t2`.`hadm_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `stay`,
        NULLIF(
          REGEXP_REPLACE(`t2`.`subject_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `patient`,
        'diagnosis' AS `kind`,
        CASE
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t2`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,18}$'
          )
          THEN CAST(NULLIF(
            REGEXP_REPLACE(`t2`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ) AS INT64)
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t2`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,15}\\.0*$'
          )
          THEN CAST(TRUNC(
            CAST(NULLIF(
              REGEXP_REPLACE(`t2`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS FLOAT64)
          ) AS INT64)
          ELSE CAST(NULL AS INT64)
        END AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t2`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t2`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t2`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM (
        SELECT
          CAST(NULL AS INT64) AS `line`,
          CAST(CAST(`t0`.`hadm_id` AS INT64) AS STRING) AS `hadm_id`,
          CAST(CAST(`t0`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
          `t0`.`icd_code`,
          CAST(CAST(`t0`.`seq_num` AS INT64) AS STRING) AS `seq_num`,
          CAST(CAST(`t0`.`icd_version` AS INT64) AS STRING) AS `icd_version`
        FROM `mimiciv_hosp`.`diagnoses_icd` AS `t0`
      ) AS `t2`
    ) AS `t4`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        'procedures_icd' AS `file`,
        `t3`.`line`,
        'icd_code' AS `field`,
        NULLIF(
          REGEXP_REPLACE(`t3`.`hadm_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `stay`,
        NULLIF(
          REGEXP_REPLACE(`t3`.`subject_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `patient`,
        'procedure' AS `kind`,
        CASE
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t3`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,18}$'
          )
          THEN CAST(NULLIF(
            REGEXP_REPLACE(`t3`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ) AS INT64)
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t3`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,15}\\.0*$'
          )
          THEN CAST(TRUNC(
            CAST(NULLIF(
              REGEXP_REPLACE(`t3`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS FLOAT64)
          ) AS INT64)
          ELSE CAST(NULL AS INT64)
        END AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t3`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t3`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t3`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM (
        SELECT
          CAST(NULL AS INT64) AS `line`,
          CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING) AS `hadm_id`,
          CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
          `t1`.`icd_code`,
          CAST(CAST(`t1`.`seq_num` AS INT64) AS STRING) AS `seq_num`,
          CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING) AS `icd_version`
        FROM `mimiciv_hosp`.`procedures_icd` AS `t1`
      ) AS `t3`
    ) AS `t5`
  ) AS `t6`
  WHERE
    `t6`.`code` IS NOT NULL AND `t6`.`kind` IS NOT NULL
) AS `t7`
GROUP BY
  1,
  2,
  3;

SELECT
  `t10`.`file`,
  `t10`.`field`,
  `t10`.`reason`,
  COUNT(*) AS `entries`
FROM (
  SELECT
    `t9`.`file`,
    `t9`.`line`,
    `t9`.`field`,
    `t9`.`stay`,
    `t9`.`patient`,
    `t9`.`kind`,
    `t9`.`position`,
    `t9`.`code`,
    `t9`.`version`,
    `t3`.`code_id`,
    CASE
      WHEN `t9`.`stay` IS NULL
      THEN 'missing_stay'
      WHEN `t9`.`code` IS NULL
      THEN 'missing_code'
      WHEN `t9`.`kind` IS NULL
      THEN 'missing_kind'
      WHEN `t9`.`version` IS NULL
      THEN 'not_icd'
      ELSE NULLIF(`t3`.`verdict`, '')
    END AS `reason`
  FROM (
    SELECT
      *
    FROM (
      SELECT
        'diagnoses_icd' AS `file`,
        `t4`.`line`,
        'icd_code' AS `field`,
        NULLIF(
          REGEXP_REPLACE(`t4`.`hadm_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `stay`,
        NULLIF(
          REGEXP_REPLACE(`t4`.`subject_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `patient`,
        'diagnosis' AS `kind`,
        CASE
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,18}$'
          )
          THEN CAST(NULLIF(
            REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ) AS INT64)
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,15}\\.0*$'
          )
          THEN CAST(TRUNC(
            CAST(NULLIF(
              REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS FLOAT64)
          ) AS INT64)
          ELSE CAST(NULL AS INT64)
        END AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t4`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t4`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t4`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM (
        SELECT
          CAST(NULL AS INT64) AS `line`,
          CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING) AS `hadm_id`,
          CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
          `t1`.`icd_code`,
          CAST(CAST(`t1`.`seq_num` AS INT64) AS STRING) AS `seq_num`,
          CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING) AS `icd_version`
        FROM `mimiciv_hosp`.`diagnoses_icd` AS `t1`
      ) AS `t4`
    ) AS `t6`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        'procedures_icd' AS `file`,
        `t5`.`line`,
        'icd_code' AS `field`,
        NULLIF(
          REGEXP_REPLACE(`t5`.`hadm_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `stay`,
        NULLIF(
          REGEXP_REPLACE(`t5`.`subject_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `patient`,
        'procedure' AS `kind`,
        CASE
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,18}$'
          )
          THEN CAST(NULLIF(
            REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ) AS INT64)
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,15}\\.0*$'
          )
          THEN CAST(TRUNC(
            CAST(NULLIF(
              REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS FLOAT64)
          ) AS INT64)
          ELSE CAST(NULL AS INT64)
        END AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t5`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t5`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t5`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM (
        SELECT
          CAST(NULL AS INT64) AS `line`,
          CAST(CAST(`t2`.`hadm_id` AS INT64) AS STRING) AS `hadm_id`,
          CAST(CAST(`t2`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
          `t2`.`icd_code`,
          CAST(CAST(`t2`.`seq_num` AS INT64) AS STRING) AS `seq_num`,
          CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING) AS `icd_version`
        FROM `mimiciv_hosp`.`procedures_icd` AS `t2`
      ) AS `t5`
    ) AS `t7`
  ) AS `t9`
  LEFT OUTER JOIN `verdicts` AS `t3`
    ON `t9`.`kind` = `t3`.`kind`
    AND `t9`.`version` = `t3`.`version`
    AND `t9`.`code` = `t3`.`code`
) AS `t10`
GROUP BY
  1,
  2,
  3;

SELECT
  `t10`.`file`,
  `t10`.`line`,
  `t10`.`reason`,
  `t10`.`field` AS `column`,
  SUBSTRING(`t10`.`code`, IF((
    0 + 1
  ) >= 1, 0 + 1, 0 + 1 + LENGTH(`t10`.`code`)), 40) AS `detail`
FROM (
  SELECT
    `t9`.`file`,
    `t9`.`line`,
    `t9`.`field`,
    `t9`.`stay`,
    `t9`.`patient`,
    `t9`.`kind`,
    `t9`.`position`,
    `t9`.`code`,
    `t9`.`version`,
    `t3`.`code_id`,
    CASE
      WHEN `t9`.`stay` IS NULL
      THEN 'missing_stay'
      WHEN `t9`.`code` IS NULL
      THEN 'missing_code'
      WHEN `t9`.`kind` IS NULL
      THEN 'missing_kind'
      WHEN `t9`.`version` IS NULL
      THEN 'not_icd'
      ELSE NULLIF(`t3`.`verdict`, '')
    END AS `reason`
  FROM (
    SELECT
      *
    FROM (
      SELECT
        'diagnoses_icd' AS `file`,
        `t4`.`line`,
        'icd_code' AS `field`,
        NULLIF(
          REGEXP_REPLACE(`t4`.`hadm_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `stay`,
        NULLIF(
          REGEXP_REPLACE(`t4`.`subject_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `patient`,
        'diagnosis' AS `kind`,
        CASE
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,18}$'
          )
          THEN CAST(NULLIF(
            REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ) AS INT64)
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,15}\\.0*$'
          )
          THEN CAST(TRUNC(
            CAST(NULLIF(
              REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS FLOAT64)
          ) AS INT64)
          ELSE CAST(NULL AS INT64)
        END AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t4`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t4`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t4`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM (
        SELECT
          CAST(NULL AS INT64) AS `line`,
          CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING) AS `hadm_id`,
          CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
          `t1`.`icd_code`,
          CAST(CAST(`t1`.`seq_num` AS INT64) AS STRING) AS `seq_num`,
          CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING) AS `icd_version`
        FROM `mimiciv_hosp`.`diagnoses_icd` AS `t1`
      ) AS `t4`
    ) AS `t6`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        'procedures_icd' AS `file`,
        `t5`.`line`,
        'icd_code' AS `field`,
        NULLIF(
          REGEXP_REPLACE(`t5`.`hadm_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `stay`,
        NULLIF(
          REGEXP_REPLACE(`t5`.`subject_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `patient`,
        'procedure' AS `kind`,
        CASE
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,18}$'
          )
          THEN CAST(NULLIF(
            REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ) AS INT64)
          WHEN REGEXP_CONTAINS(
            NULLIF(
              REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ),
            '^-?[0-9]{1,15}\\.0*$'
          )
          THEN CAST(TRUNC(
            CAST(NULLIF(
              REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS FLOAT64)
          ) AS INT64)
          ELSE CAST(NULL AS INT64)
        END AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t5`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t5`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
          THEN 9
          WHEN REGEXP_REPLACE(
            LOWER(
              NULLIF(
                REGEXP_REPLACE(`t5`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ),
            '[^a-z0-9.]',
            ''
          ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
          THEN 10
          ELSE -1
        END AS `version`
      FROM (
        SELECT
          CAST(NULL AS INT64) AS `line`,
          CAST(CAST(`t2`.`hadm_id` AS INT64) AS STRING) AS `hadm_id`,
          CAST(CAST(`t2`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
          `t2`.`icd_code`,
          CAST(CAST(`t2`.`seq_num` AS INT64) AS STRING) AS `seq_num`,
          CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING) AS `icd_version`
        FROM `mimiciv_hosp`.`procedures_icd` AS `t2`
      ) AS `t5`
    ) AS `t7`
  ) AS `t9`
  LEFT OUTER JOIN `verdicts` AS `t3`
    ON `t9`.`kind` = `t3`.`kind`
    AND `t9`.`version` = `t3`.`version`
    AND `t9`.`code` = `t3`.`code`
) AS `t10`
WHERE
  `t10`.`reason` IS NOT NULL
ORDER BY
  CASE `t10`.`file` WHEN 'diagnoses_icd' THEN 0 WHEN 'procedures_icd' THEN 1 ELSE 2 END ASC NULLS LAST,
  `t10`.`line` ASC NULLS LAST,
  CASE `t10`.`field` WHEN 'icd_code' THEN 0 ELSE 1 END ASC NULLS LAST,
  CASE `t10`.`reason` WHEN 'not_a_code' THEN 0 ELSE 1 END ASC NULLS LAST,
  SUBSTRING(`t10`.`code`, IF((
    0 + 1
  ) >= 1, 0 + 1, 0 + 1 + LENGTH(`t10`.`code`)), 40) ASC NULLS LAST;

WITH `t21` AS (
  SELECT
    `t20`.`stay`,
    `t20`.`kind`,
    `t20`.`code_id`,
    MIN(`t20`.`position`) AS `position`,
    MIN(`t20`.`line`) AS `line`,
    MIN(`t20`.`patient`) AS `patient`,
    MAX(`t20`.`patient`) AS `other_patient`
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t18`.`file`,
        `t18`.`line`,
        `t18`.`field`,
        `t18`.`stay`,
        `t18`.`patient`,
        `t18`.`kind`,
        `t18`.`position`,
        `t18`.`code`,
        `t18`.`version`,
        `t5`.`code_id`,
        CASE
          WHEN `t18`.`stay` IS NULL
          THEN 'missing_stay'
          WHEN `t18`.`code` IS NULL
          THEN 'missing_code'
          WHEN `t18`.`kind` IS NULL
          THEN 'missing_kind'
          WHEN `t18`.`version` IS NULL
          THEN 'not_icd'
          ELSE NULLIF(`t5`.`verdict`, '')
        END AS `reason`
      FROM (
        SELECT
          *
        FROM (
          SELECT
            'diagnoses_icd' AS `file`,
            `t8`.`line`,
            'icd_code' AS `field`,
            NULLIF(
              REGEXP_REPLACE(`t8`.`hadm_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS `stay`,
            NULLIF(
              REGEXP_REPLACE(`t8`.`subject_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS `patient`,
            'diagnosis' AS `kind`,
            CASE
              WHEN REGEXP_CONTAINS(
                NULLIF(
                  REGEXP_REPLACE(`t8`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                  ''
                ),
                '^-?[0-9]{1,18}$'
              )
              THEN CAST(NULLIF(
                REGEXP_REPLACE(`t8`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              ) AS INT64)
              WHEN REGEXP_CONTAINS(
                NULLIF(
                  REGEXP_REPLACE(`t8`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                  ''
                ),
                '^-?[0-9]{1,15}\\.0*$'
              )
              THEN CAST(TRUNC(
                CAST(NULLIF(
                  REGEXP_REPLACE(`t8`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                  ''
                ) AS FLOAT64)
              ) AS INT64)
              ELSE CAST(NULL AS INT64)
            END AS `position`,
            NULLIF(
              REGEXP_REPLACE(`t8`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS `code`,
            CASE
              WHEN REGEXP_REPLACE(
                LOWER(
                  NULLIF(
                    REGEXP_REPLACE(`t8`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                    ''
                  )
                ),
                '[^a-z0-9.]',
                ''
              ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
              THEN 9
              WHEN REGEXP_REPLACE(
                LOWER(
                  NULLIF(
                    REGEXP_REPLACE(`t8`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                    ''
                  )
                ),
                '[^a-z0-9.]',
                ''
              ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
              THEN 10
              ELSE -1
            END AS `version`
          FROM (
            SELECT
              CAST(NULL AS INT64) AS `line`,
              CAST(CAST(`t3`.`hadm_id` AS INT64) AS STRING) AS `hadm_id`,
              CAST(CAST(`t3`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
              `t3`.`icd_code`,
              CAST(CAST(`t3`.`seq_num` AS INT64) AS STRING) AS `seq_num`,
              CAST(CAST(`t3`.`icd_version` AS INT64) AS STRING) AS `icd_version`
            FROM `mimiciv_hosp`.`diagnoses_icd` AS `t3`
          ) AS `t8`
        ) AS `t14`
        UNION ALL
        SELECT
          *
        FROM (
          SELECT
            'procedures_icd' AS `file`,
            `t9`.`line`,
            'icd_code' AS `field`,
            NULLIF(
              REGEXP_REPLACE(`t9`.`hadm_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS `stay`,
            NULLIF(
              REGEXP_REPLACE(`t9`.`subject_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS `patient`,
            'procedure' AS `kind`,
            CASE
              WHEN REGEXP_CONTAINS(
                NULLIF(
                  REGEXP_REPLACE(`t9`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                  ''
                ),
                '^-?[0-9]{1,18}$'
              )
              THEN CAST(NULLIF(
                REGEXP_REPLACE(`t9`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              ) AS INT64)
              WHEN REGEXP_CONTAINS(
                NULLIF(
                  REGEXP_REPLACE(`t9`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                  ''
                ),
                '^-?[0-9]{1,15}\\.0*$'
              )
              THEN CAST(TRUNC(
                CAST(NULLIF(
                  REGEXP_REPLACE(`t9`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                  ''
                ) AS FLOAT64)
              ) AS INT64)
              ELSE CAST(NULL AS INT64)
            END AS `position`,
            NULLIF(
              REGEXP_REPLACE(`t9`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            ) AS `code`,
            CASE
              WHEN REGEXP_REPLACE(
                LOWER(
                  NULLIF(
                    REGEXP_REPLACE(`t9`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                    ''
                  )
                ),
                '[^a-z0-9.]',
                ''
              ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
              THEN 9
              WHEN REGEXP_REPLACE(
                LOWER(
                  NULLIF(
                    REGEXP_REPLACE(`t9`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                    ''
                  )
                ),
                '[^a-z0-9.]',
                ''
              ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
              THEN 10
              ELSE -1
            END AS `version`
          FROM (
            SELECT
              CAST(NULL AS INT64) AS `line`,
              CAST(CAST(`t4`.`hadm_id` AS INT64) AS STRING) AS `hadm_id`,
              CAST(CAST(`t4`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
              `t4`.`icd_code`,
              CAST(CAST(`t4`.`seq_num` AS INT64) AS STRING) AS `seq_num`,
              CAST(CAST(`t4`.`icd_version` AS INT64) AS STRING) AS `icd_version`
            FROM `mimiciv_hosp`.`procedures_icd` AS `t4`
          ) AS `t9`
        ) AS `t15`
      ) AS `t18`
      LEFT OUTER JOIN `verdicts` AS `t5`
        ON `t18`.`kind` = `t5`.`kind`
        AND `t18`.`version` = `t5`.`version`
        AND `t18`.`code` = `t5`.`code`
    ) AS `t19`
    WHERE
      `t19`.`reason` IS NULL
  ) AS `t20`
  GROUP BY
    1,
    2,
    3
)
SELECT
  *
FROM (
  SELECT
    `t35`.`stay`,
    `t35`.`patient`,
    `t35`.`other_patient`,
    `t35`.`diagnoses`,
    `t35`.`procedures`,
    `t16`.`sex`,
    `t16`.`admission_type`
  FROM (
    SELECT
      `t33`.`stay`,
      `t33`.`patient`,
      `t33`.`other_patient`,
      `t33`.`diagnoses`,
      `t33`.`procedures`
    FROM (
      SELECT
        `t32`.`stay`,
        MIN(`t32`.`patient`) AS `patient`,
        MAX(`t32`.`other_patient`) AS `other_patient`,
        ARRAY_AGG(IF(`t32`.`kind` = 'diagnosis', `t32`.`placed`, NULL) IGNORE NULLS) AS `diagnoses`,
        ARRAY_AGG(IF(`t32`.`kind` = 'procedure', `t32`.`placed`, NULL) IGNORE NULLS) AS `procedures`,
        COUNTIF(`t32`.`kind` = 'diagnosis') AS `diagnosis_count`,
        COUNTIF(`t32`.`kind` = 'procedure') AS `procedure_count`
      FROM (
        SELECT
          `t31`.`stay`,
          `t31`.`kind`,
          `t31`.`code_id`,
          `t31`.`position`,
          `t31`.`line`,
          `t31`.`patient`,
          `t31`.`other_patient`,
          (
            (
              ROW_NUMBER() OVER (
                PARTITION BY `t31`.`stay`, `t31`.`kind`
                ORDER BY COALESCE(`t31`.`position`, 4611686018427387904) ASC, COALESCE(`t31`.`line`, 0) ASC, `t31`.`code_id` ASC
              ) - 1
            ) * 4294967296
          ) + `t31`.`code_id` AS `placed`
        FROM (
          SELECT
            `t23`.`stay`,
            `t23`.`kind`,
            `t23`.`code_id`,
            `t23`.`position`,
            `t23`.`line`,
            `t23`.`patient`,
            `t23`.`other_patient`
          FROM `t21` AS `t23`
          INNER JOIN (
            SELECT
              `t24`.`stay`
            FROM (
              SELECT
                `t22`.`stay`,
                COUNT(DISTINCT `t22`.`kind`) AS `kinds`
              FROM `t21` AS `t22`
              GROUP BY
                1
            ) AS `t24`
            WHERE
              `t24`.`kinds` = 2
          ) AS `t26`
            ON `t23`.`stay` = `t26`.`stay`
          INNER JOIN (
            SELECT
              `t28`.`code_id`
            FROM (
              SELECT
                `t27`.`code_id`,
                COUNT(*) AS `stays`
              FROM (
                SELECT
                  `t23`.`stay`,
                  `t23`.`kind`,
                  `t23`.`code_id`,
                  `t23`.`position`,
                  `t23`.`line`,
                  `t23`.`patient`,
                  `t23`.`other_patient`
                FROM `t21` AS `t23`
                INNER JOIN (
                  SELECT
                    `t24`.`stay`
                  FROM (
                    SELECT
                      `t22`.`stay`,
                      COUNT(DISTINCT `t22`.`kind`) AS `kinds`
                    FROM `t21` AS `t22`
                    GROUP BY
                      1
                  ) AS `t24`
                  WHERE
                    `t24`.`kinds` = 2
                ) AS `t26`
                  ON `t23`.`stay` = `t26`.`stay`
              ) AS `t27`
              GROUP BY
                1
            ) AS `t28`
            WHERE
              `t28`.`stays` >= 1
          ) AS `t30`
            ON `t23`.`code_id` = `t30`.`code_id`
        ) AS `t31`
      ) AS `t32`
      GROUP BY
        1
    ) AS `t33`
    WHERE
      `t33`.`diagnosis_count` > 0 AND `t33`.`procedure_count` > 0
  ) AS `t35`
  LEFT OUTER JOIN (
    SELECT
      `t12`.`stay`,
      MIN(`t12`.`sex`) AS `sex`,
      MIN(`t12`.`admission_type`) AS `admission_type`
    FROM (
      SELECT
        NULLIF(
          REGEXP_REPLACE(`t10`.`hadm_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `stay`,
        NULLIF(
          REGEXP_REPLACE(`t11`.`gender`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `sex`,
        NULLIF(
          REGEXP_REPLACE(`t10`.`admission_type`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `admission_type`
      FROM (
        SELECT
          CAST(NULL AS INT64) AS `line`,
          CAST(CAST(`t0`.`hadm_id` AS INT64) AS STRING) AS `hadm_id`,
          CAST(CAST(`t0`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
          `t0`.`admission_type`
        FROM `mimiciv_hosp`.`admissions` AS `t0`
      ) AS `t10`
      LEFT OUTER JOIN (
        SELECT
          CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
          `t1`.`gender`
        FROM `mimiciv_hosp`.`patients` AS `t1`
      ) AS `t11`
        ON `t10`.`subject_id` = `t11`.`subject_id`
    ) AS `t12`
    GROUP BY
      1
  ) AS `t16`
    ON `t35`.`stay` = `t16`.`stay`
) AS `t36`
ORDER BY
  LENGTH(`t36`.`stay`) ASC NULLS LAST,
  `t36`.`stay` ASC NULLS LAST;

WITH `t8` AS (
  SELECT
    *
  FROM (
    SELECT
      'diagnoses_icd' AS `file`,
      `t4`.`line`,
      'icd_code' AS `field`,
      NULLIF(
        REGEXP_REPLACE(`t4`.`hadm_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
        ''
      ) AS `stay`,
      NULLIF(
        REGEXP_REPLACE(`t4`.`subject_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
        ''
      ) AS `patient`,
      'diagnosis' AS `kind`,
      CASE
        WHEN REGEXP_CONTAINS(
          NULLIF(
            REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ),
          '^-?[0-9]{1,18}$'
        )
        THEN CAST(NULLIF(
          REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS INT64)
        WHEN REGEXP_CONTAINS(
          NULLIF(
            REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ),
          '^-?[0-9]{1,15}\\.0*$'
        )
        THEN CAST(TRUNC(
          CAST(NULLIF(
            REGEXP_REPLACE(`t4`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ) AS FLOAT64)
        ) AS INT64)
        ELSE CAST(NULL AS INT64)
      END AS `position`,
      NULLIF(
        REGEXP_REPLACE(`t4`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
        ''
      ) AS `code`,
      CASE
        WHEN REGEXP_REPLACE(
          LOWER(
            NULLIF(
              REGEXP_REPLACE(`t4`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            )
          ),
          '[^a-z0-9.]',
          ''
        ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
        THEN 9
        WHEN REGEXP_REPLACE(
          LOWER(
            NULLIF(
              REGEXP_REPLACE(`t4`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            )
          ),
          '[^a-z0-9.]',
          ''
        ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
        THEN 10
        ELSE -1
      END AS `version`
    FROM (
      SELECT
        CAST(NULL AS INT64) AS `line`,
        CAST(CAST(`t0`.`hadm_id` AS INT64) AS STRING) AS `hadm_id`,
        CAST(CAST(`t0`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
        `t0`.`icd_code`,
        CAST(CAST(`t0`.`seq_num` AS INT64) AS STRING) AS `seq_num`,
        CAST(CAST(`t0`.`icd_version` AS INT64) AS STRING) AS `icd_version`
      FROM `mimiciv_hosp`.`diagnoses_icd` AS `t0`
    ) AS `t4`
  ) AS `t6`
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      'procedures_icd' AS `file`,
      `t5`.`line`,
      'icd_code' AS `field`,
      NULLIF(
        REGEXP_REPLACE(`t5`.`hadm_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
        ''
      ) AS `stay`,
      NULLIF(
        REGEXP_REPLACE(`t5`.`subject_id`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
        ''
      ) AS `patient`,
      'procedure' AS `kind`,
      CASE
        WHEN REGEXP_CONTAINS(
          NULLIF(
            REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ),
          '^-?[0-9]{1,18}$'
        )
        THEN CAST(NULLIF(
          REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS INT64)
        WHEN REGEXP_CONTAINS(
          NULLIF(
            REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ),
          '^-?[0-9]{1,15}\\.0*$'
        )
        THEN CAST(TRUNC(
          CAST(NULLIF(
            REGEXP_REPLACE(`t5`.`seq_num`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ) AS FLOAT64)
        ) AS INT64)
        ELSE CAST(NULL AS INT64)
      END AS `position`,
      NULLIF(
        REGEXP_REPLACE(`t5`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
        ''
      ) AS `code`,
      CASE
        WHEN REGEXP_REPLACE(
          LOWER(
            NULLIF(
              REGEXP_REPLACE(`t5`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            )
          ),
          '[^a-z0-9.]',
          ''
        ) IN ('9', '09', '9.0', 'icd9', 'icd9cm', 'icd9pcs', 'icd9proc', 'icd9dx', 'icd9px')
        THEN 9
        WHEN REGEXP_REPLACE(
          LOWER(
            NULLIF(
              REGEXP_REPLACE(`t5`.`icd_version`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
              ''
            )
          ),
          '[^a-z0-9.]',
          ''
        ) IN ('10', '10.0', 'icd10', 'icd10cm', 'icd10pcs', 'icd10dx', 'icd10px', 'icd10proc')
        THEN 10
        ELSE -1
      END AS `version`
    FROM (
      SELECT
        CAST(NULL AS INT64) AS `line`,
        CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING) AS `hadm_id`,
        CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING) AS `subject_id`,
        `t1`.`icd_code`,
        CAST(CAST(`t1`.`seq_num` AS INT64) AS STRING) AS `seq_num`,
        CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING) AS `icd_version`
      FROM `mimiciv_hosp`.`procedures_icd` AS `t1`
    ) AS `t5`
  ) AS `t7`
), `t13` AS (
  SELECT
    `t10`.`file`,
    `t10`.`line`,
    `t10`.`field`,
    `t10`.`stay`,
    `t10`.`patient`,
    `t10`.`kind`,
    `t10`.`position`,
    `t10`.`code`,
    `t10`.`version`,
    `t3`.`code_id`,
    CASE
      WHEN `t10`.`stay` IS NULL
      THEN 'missing_stay'
      WHEN `t10`.`code` IS NULL
      THEN 'missing_code'
      WHEN `t10`.`kind` IS NULL
      THEN 'missing_kind'
      WHEN `t10`.`version` IS NULL
      THEN 'not_icd'
      ELSE NULLIF(`t3`.`verdict`, '')
    END AS `reason`
  FROM `t8` AS `t10`
  LEFT OUTER JOIN `verdicts` AS `t3`
    ON `t10`.`kind` = `t3`.`kind`
    AND `t10`.`version` = `t3`.`version`
    AND `t10`.`code` = `t3`.`code`
), `t16` AS (
  SELECT
    *
  FROM `t13` AS `t14`
  WHERE
    `t14`.`reason` IS NULL
), `t20` AS (
  SELECT
    `t17`.`stay`,
    `t17`.`kind`,
    `t17`.`code_id`,
    MIN(`t17`.`position`) AS `position`,
    MIN(`t17`.`line`) AS `line`,
    MIN(`t17`.`patient`) AS `patient`,
    MAX(`t17`.`patient`) AS `other_patient`
  FROM `t16` AS `t17`
  GROUP BY
    1,
    2,
    3
), `t30` AS (
  SELECT
    `t24`.`stay`,
    `t24`.`kind`,
    `t24`.`code_id`,
    `t24`.`position`,
    `t24`.`line`,
    `t24`.`patient`,
    `t24`.`other_patient`
  FROM `t20` AS `t24`
  INNER JOIN (
    SELECT
      `t26`.`stay`
    FROM (
      SELECT
        `t22`.`stay`,
        COUNT(DISTINCT `t22`.`kind`) AS `kinds`
      FROM `t20` AS `t22`
      GROUP BY
        1
    ) AS `t26`
    WHERE
      `t26`.`kinds` = 2
  ) AS `t29`
    ON `t24`.`stay` = `t29`.`stay`
)
SELECT
  *
FROM (
  SELECT
    *
  FROM (
    SELECT
      `t34`.`number`,
      6 AS `place`
    FROM (
      SELECT
        COUNT(DISTINCT `t31`.`stay`) AS `number`
      FROM `t30` AS `t31`
    ) AS `t34`
  ) AS `t36`
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t11`.`number`,
        0 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM `t8` AS `t9`
      ) AS `t11`
    ) AS `t12`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        `t19`.`number`,
        1 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM `t16` AS `t17`
      ) AS `t19`
    ) AS `t21`
  ) AS `t23`
) AS `t39`
UNION ALL
SELECT
  *
FROM (
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t25`.`number`,
        2 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM `t20` AS `t22`
      ) AS `t25`
    ) AS `t27`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        `t32`.`number`,
        3 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM `t30` AS `t31`
      ) AS `t32`
    ) AS `t35`
  ) AS `t37`
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t42`.`number`,
        4 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM (
          SELECT
            `t24`.`stay`,
            `t24`.`kind`,
            `t24`.`code_id`,
            `t24`.`position`,
            `t24`.`line`,
            `t24`.`patient`,
            `t24`.`other_patient`
          FROM `t20` AS `t24`
          INNER JOIN (
            SELECT
              `t26`.`stay`
            FROM (
              SELECT
                `t22`.`stay`,
                COUNT(DISTINCT `t22`.`kind`) AS `kinds`
              FROM `t20` AS `t22`
              GROUP BY
                1
            ) AS `t26`
            WHERE
              `t26`.`kinds` = 2
          ) AS `t29`
            ON `t24`.`stay` = `t29`.`stay`
          INNER JOIN (
            SELECT
              `t33`.`code_id`
            FROM (
              SELECT
                `t31`.`code_id`,
                COUNT(*) AS `stays`
              FROM `t30` AS `t31`
              GROUP BY
                1
            ) AS `t33`
            WHERE
              `t33`.`stays` >= 1
          ) AS `t40`
            ON `t24`.`code_id` = `t40`.`code_id`
        ) AS `t41`
      ) AS `t42`
    ) AS `t43`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        `t15`.`number`,
        5 AS `place`
      FROM (
        SELECT
          COUNT(DISTINCT `t14`.`stay`) AS `number`
        FROM `t13` AS `t14`
      ) AS `t15`
    ) AS `t18`
  ) AS `t44`
) AS `t45`;
